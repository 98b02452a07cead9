import { type ConnectionRun, type McpClientConnection, McpSessionError } from "@durable-mcp/ai-sdk";
import { isPausing, pausingInput } from "@durable-mcp/ai-sdk/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import type { CallRequest, CallResult, WaitingRequest, WaitingStep } from "../step-protocol.ts";
import { failed, interrupted, notSent } from "./failed-call.ts";
import { modelOutput } from "./model-output.ts";
import type { SaidThroughHook } from "./person-said.ts";
import type { SealCalls, StepConnection, StepSessions } from "./step-sessions.ts";

/** A call that waits, for the workflow. */
export async function waitingStep(
  call: WaitingCall,
  { options }: McpClientConnection,
  sealCalls: SealCalls,
): Promise<WaitingStep> {
  const { id, round, toolCallId = "", expiresAt } = call;
  const { onExpired = "fail" } = pausingInput(options) ?? {};
  const record = await sealCalls();
  return {
    ...{ id, round, toolCallId, call: JSON.stringify(call) },
    ...(record !== undefined && { record }),
    ...(onExpired === "fail" && expiresAt !== undefined && { endsAt: expiresAt }),
  };
}

type Tools = Parameters<ConnectionRun["waiting"]["resume"]>[1]["tools"];

/** A call as it is at the end of a step. */
interface Found {
  /** `undefined` if it is not kept any more, or is another call. */
  readonly call: WaitingCall | undefined;
  /** For the model, when the call is over. */
  readonly output: { readonly type: string; readonly value?: unknown };
  /** Why nothing was done for it in this step. */
  readonly failure?: unknown;
}

/**
 * Goes on with a call that waits. It does what a person said, if the call waits for that, and gives what the call is
 * then. With a store it may be repeated, because each answer is claimed there.
 */
export async function goOnInStep(
  sessions: StepSessions,
  step: StepConnection,
  request: CallRequest & { readonly waiting: WaitingRequest },
  { said, now }: { said: SaidThroughHook; now: () => number },
): Promise<CallResult> {
  const { connection, definition } = step;
  const { tool, waiting, mayRunTwice } = request;
  if (!isPausing(definition)) return failed(notPausing(connection));
  const record = waiting.kind === "find" ? undefined : waiting.record;
  const use = async (run: ConnectionRun): Promise<Found> =>
    waiting.kind === "find"
      ? await find(run, request)
      : await goOn(run, request, await personSaid(said, step, waiting), { ...waiting, now });
  let used: Awaited<ReturnType<typeof sessions.call<Found>>>;
  try {
    used = await sessions.call(step, use, {
      ...{ tool, tellLoss: false, hasSession: false },
      ...(record !== undefined && { record }),
    });
  } catch (error) {
    // The record cannot be opened. A thrown error would look like an interrupted step.
    if (McpSessionError.isInstance(error) && error.code === "NOT_WAITING") return failed(error);
    throw error;
  }
  const { result, sealCalls } = used!;
  const { call, output, failure } = result;
  const isOpen = call?.state === "waiting" || (call?.state === "answering" && mayRunTwice);
  let still: WaitingStep | undefined;
  try {
    still = isOpen ? await waitingStep(call, definition, sealCalls) : undefined;
  } catch (error) {
    return notSent(error);
  }
  const waits = still && { waiting: still };
  const why = String(output.value).replace(/^\w*Error: /, "");
  switch (call?.state) {
    case "waiting":
      if (failure !== undefined) return { ...failed(failure), ...waits };
      return { ok: true, output: { type: "text", value: "The call waits." }, ...waits };
    case "answering":
      return { ...failed(interrupted(connection, tool)), ...waits };
    case "settled":
      if (output.type !== "error-text") return { ok: true, output: modelOutput(output) };
      return failed(new Error(why));
    case "outcome-unknown":
      return failed(new McpSessionError("OUTCOME_UNKNOWN", why));
    case undefined:
      if (waiting.kind === "find") return failed(interrupted(connection, tool));
      return failed(new McpSessionError("NOT_WAITING", why));
    default:
      return failed(new McpSessionError("NOT_WAITING", why));
  }
}

type Act = { readonly kind: "expire" } | Awaited<ReturnType<SaidThroughHook["read"]>>;

async function personSaid(
  said: SaidThroughHook,
  step: StepConnection,
  { kind, payload, ...asked }: Exclude<WaitingRequest, { kind: "find" }>,
): Promise<Act> {
  return kind === "expire" ? { kind } : await said.read(payload, step, asked);
}

async function goOn(
  run: ConnectionRun,
  request: CallRequest,
  act: Act,
  { id, round, now }: Pick<WaitingStep, "id" | "round"> & { readonly now: () => number },
): Promise<Found> {
  const { waiting } = run;
  const open = (await openCalls(run)).find((each) => each.id === id);
  let tools: Tools = {};
  let failure: unknown;
  try {
    if (open === undefined) {
      // The server has answered already, and is only needed for the form of its answer.
      tools = await run.tools({ onUnavailable: "omit" });
    } else if (open.round === round) {
      if (act === undefined) throw notSaid();
      const isEarly = act.kind === "expire" && now() < (open.expiresAt ?? 0);
      if (act.kind === "withdraw" || isEarly) await waiting.withdraw(id);
      else if (act.kind === "expire") await waiting.answer(id, {}, { round });
      else {
        // Before the answer is spent: what follows it needs no network.
        tools = await run.tools({ onUnavailable: "throw" });
        await waiting.answer(id, act.responses, { round });
      }
    }
  } catch (error) {
    failure = error;
  }
  return { ...(await look(run, tools, id, request)), failure };
}

/** The calls that wait. A connection whose user has to sign in is none. */
async function openCalls({ waiting }: ConnectionRun) {
  return (await waiting.list()).filter((entry) => entry.type !== "sign-in");
}

/** The call of a step that was interrupted after its server had asked. */
async function find(run: ConnectionRun, request: CallRequest): Promise<Found> {
  const { connection, tool, toolCallId } = request;
  const open = await openCalls(run);
  const alike = open.filter(
    (each) =>
      each.connection === connection && each.tool === tool && each.toolCallId === toolCallId,
  );
  for (const { id } of alike.toReversed()) {
    const found = await look(run, {}, id, request);
    if (found.call !== undefined) return found;
  }
  return { call: undefined, output: { type: "text" } };
}

/** Has the run put the call's result into messages, as it does for agents. */
async function look(
  { waiting }: ConnectionRun,
  tools: Tools,
  id: string,
  { tool, toolCallId = "", input }: CallRequest,
): Promise<Found> {
  const names = Object.keys(tools).filter(
    (name) => (tools[name] as { metadata?: { toolName?: unknown } }).metadata?.toolName === tool,
  );
  const call = { toolCallId, toolName: names[0] ?? tool };
  const marker = { "durable-mcp": { waiting: id } };
  const value = [{ type: "text", text: "", providerOptions: marker }];
  const result = { type: "tool-result", ...call, output: { type: "content", value } };
  const { messages, stillWaiting, resumed } = await waiting.resume(
    [
      { role: "assistant", content: [{ type: "tool-call", ...call, input }] },
      { role: "tool", content: [result] },
    ] as object[],
    { tools },
  );
  const [filled] = (messages[1] as { content: [{ output: Found["output"] }] }).content;
  return { call: stillWaiting[0] ?? resumed[0], output: filled.output };
}

function notPausing(connection: string): McpSessionError {
  const field = `connections.${connection}.input`;
  const message = `${field} must be "pause" for a call that waits to go on. Nothing was sent in this step.`;
  return new McpSessionError("CONNECTION_INVALID", message, { data: { field, connection } });
}

function notSaid(): McpSessionError {
  return new McpSessionError(
    "INPUT_INVALID",
    "The hook of the run got something else than answer or withdraw of the steps send. Nothing was sent, and the call still waits.",
    { data: { field: "payload" } },
  );
}
