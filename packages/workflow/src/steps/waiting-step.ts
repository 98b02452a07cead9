import {
  type ConnectionRun,
  type McpClientConnection,
  McpSessionError,
  type OfferedTool,
  type PlaceEnd,
} from "@durable-mcp/sessions";
import { mayWait, runInternalsOf, waitingLimits } from "@durable-mcp/sessions/internal";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { notPausing } from "@durable-mcp/core/waiting/internal";
import type { CallRequest, CallResult, WaitingRequest, WaitingStep } from "../step-protocol.ts";
import { failed, interrupted, noSession, notSent } from "./failed-call.ts";
import { modelOutput } from "./model-output.ts";
import type { SaidThroughHook } from "./person-said.ts";
import type { SealCalls, StepConnection, StepSessions, UseRun } from "./step-sessions.ts";

/** A call that waits, for the workflow. */
export async function waitingStep(
  call: WaitingCall,
  { options }: McpClientConnection,
  sealCalls: SealCalls,
): Promise<WaitingStep> {
  const { id, round, toolCallId = "", expiresAt, pollAfter } = call;
  const { onExpired = "fail" } = waitingLimits(options) ?? {};
  // After a sign-in that came too late nobody asks again. A call that its server works on is over when a look says so.
  const ends = pollAfter === undefined && (onExpired === "fail" || round === 0);
  const record = await sealCalls();
  return {
    ...{ id, round, toolCallId, call: JSON.stringify(call) },
    ...(record !== undefined && { record }),
    ...(pollAfter !== undefined && { pollAfter }),
    ...(ends && expiresAt !== undefined && { endsAt: expiresAt }),
  };
}

/** A call as it is at the end of a step. */
interface Found {
  /** `undefined` if it is not kept any more, or is another call. */
  readonly call: WaitingCall | undefined;
  /** When the call is over. */
  readonly end?: PlaceEnd | undefined;
  /** Why nothing was done for it in this step. */
  readonly failure?: unknown;
}

/**
 * Goes on with a call that waits. It does what a person said, if the call waits for that, or carries the call out if the
 * user has signed in, and gives what the call is then. With a store it may be repeated, because each answer is claimed there.
 */
export async function goOnInStep(
  sessions: StepSessions,
  step: StepConnection,
  request: CallRequest & { readonly waiting: WaitingRequest },
  { said, now }: { said: SaidThroughHook; now: () => number },
): Promise<CallResult> {
  const { connection, definition } = step;
  const { tool, waiting, mayRunTwice, tellLoss, hasSession = false } = request;
  if (!mayWait(definition)) return failed(notPausing({ connection, state: "waiting" }));
  const record = waiting.kind === "find" ? undefined : waiting.record;
  const use: UseRun<Found> = async (run, seen) =>
    waiting.kind === "find"
      ? await find(run, request)
      : await goOn(run, request, await personSaid(said, step, waiting), { ...waiting, now, seen });
  let used: Awaited<ReturnType<typeof sessions.call<Found>>>;
  try {
    used = await sessions.call(step, use, {
      ...{ tool, tellLoss, hasSession },
      ...(record !== undefined && { record }),
    });
  } catch (error) {
    // The record cannot be opened. A thrown error would look like an interrupted step.
    if (McpSessionError.isInstance(error) && error.code === "NOT_WAITING") return failed(error);
    throw error;
  }
  if (used === undefined) {
    return waiting.kind === "find" ? failed(interrupted(connection, tool)) : noSession(connection);
  }
  const { result, slot, sealCalls } = used;
  const { call, end, failure } = result;
  const isOpen = call?.state === "waiting" || (call?.state === "answering" && mayRunTwice);
  let still: WaitingStep | undefined;
  try {
    still = isOpen ? await waitingStep(call, definition, sealCalls) : undefined;
  } catch (error) {
    return notSent(error);
  }
  const waits = still && { waiting: still };
  const error = end?.state === "failed" ? end.error : undefined;
  const why = String(error).replace(/^\w*Error: /, "");
  switch (call?.state) {
    case "waiting":
      if (failure !== undefined) {
        const { code } = failure as { code?: unknown };
        const lost = code === "SESSION_LOST" && { isLost: true, ...(slot && { slot }) };
        return { ...failed(failure), ...lost, ...waits };
      }
      return { ok: true, output: { type: "text", value: "The call waits." }, ...waits };
    case "answering":
      return { ...failed(interrupted(connection, tool)), ...waits };
    case "settled":
      if (end?.state === "over") return { ok: true, output: modelOutput(end.output, end.notice) };
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

type Act =
  | { readonly kind: "expire" }
  | { readonly kind: "look" }
  | Awaited<ReturnType<SaidThroughHook["read"]>>;

async function personSaid(
  said: SaidThroughHook,
  step: StepConnection,
  { kind, payload, ...asked }: Exclude<WaitingRequest, { kind: "find" }>,
): Promise<Act> {
  return kind === "told" ? await said.read(payload, step, asked) : { kind };
}

interface Asked extends Pick<WaitingStep, "id" | "round"> {
  readonly now: () => number;
  readonly seen: ReadonlySet<string>;
}

async function goOn(
  run: ConnectionRun,
  request: CallRequest,
  act: Act,
  { id, round, now, seen }: Asked,
): Promise<Found> {
  const { waiting } = run;
  const { calls, isLocked } = await whatWaits(run);
  const open = calls.find((each) => each.id === id);
  // Whatever the hook was told: only the sign-in counts.
  const goesOn = act?.kind !== "withdraw" && act?.kind !== "expire";
  const waitsForSignIn = isForSignIn(open) && goesOn;
  const isLook = open?.pollAfter !== undefined && goesOn;
  if (waitsForSignIn && isLocked) return { call: open };
  let tools: readonly OfferedTool[] = [];
  let failure: unknown;
  try {
    if (open === undefined || waitsForSignIn || isLook) {
      // If the server has answered already, they are only needed for the form of its answer.
      tools = request.isStandIn === true ? [] : await offer(run, "omit");
    } else if (open.round === round) {
      const isSaid = act !== undefined && act.kind !== "wake" && act.kind !== "look";
      if (!isSaid) throw notSaid();
      const isEarly = act.kind === "expire" && now() < (open.expiresAt ?? 0);
      if (act.kind === "withdraw" || isEarly) await waiting.withdraw(id);
      else if (act.kind === "expire") await waiting.answer(id, {}, { round });
      else {
        // Before the answer is spent: what follows it needs no network.
        tools = await offer(run, "throw");
        await waiting.answer(id, act.responses, { round });
      }
    }
  } catch (error) {
    failure = error;
  }
  // It may be carried out by a look, even if a person has taken it back.
  if (failure !== undefined && isForSignIn(open)) return { call: open, failure };
  const found = await look(run, tools, id, request);
  const isStill = found.call?.state === "waiting" && isForSignIn(found.call);
  if (isStill && !(await whatWaits(run)).isLocked) failure ??= notMade(request, seen.has("lost"));
  return { ...found, failure };
}

const isForSignIn = (call: WaitingCall | undefined) => call?.type === "call-waits-for-sign-in";

/** The calls that wait, and whether the user has to sign in to the connection. */
async function whatWaits({ waiting }: ConnectionRun) {
  const entries = await waiting.list();
  const calls = entries.filter((entry) => entry.type !== "sign-in");
  return { calls, isLocked: calls.length < entries.length };
}

/** The call of a step that was interrupted after it had begun to wait. Sends nothing, even after a sign-in. */
async function find(run: ConnectionRun, request: CallRequest): Promise<Found> {
  const { tool, toolCallId } = request;
  const { calls } = await whatWaits(run);
  const call = calls.findLast((each) => each.tool === tool && each.toolCallId === toolCallId);
  return { call };
}

const offer = async (run: ConnectionRun, onUnavailable: "omit" | "throw") =>
  await runInternalsOf(run)(async (of) => await of.offer({ onUnavailable }));

/** The call's end, as agents get it in its place. */
async function look(
  run: ConnectionRun,
  offered: readonly OfferedTool[],
  id: string,
  { tool, toolCallId = "", input }: CallRequest,
): Promise<Found> {
  const tools = Object.fromEntries(offered.map((each) => [each.name, each]));
  const toolName = offered.find((each) => each.tool === tool)?.name ?? tool;
  const { ends, stillWaiting, resumed } = await runInternalsOf(run)(({ resumption }) =>
    resumption.resume({
      places: [{ id, toolCallId, toolName, input }],
      tools,
    }),
  );
  return { call: stillWaiting[0] ?? resumed[0], end: ends[0] };
}

function notSaid(): McpSessionError {
  return new McpSessionError(
    "INPUT_INVALID",
    "The hook of the run got something else than answer or withdraw of the steps send. Nothing was sent, and the call still waits.",
    { data: { field: "payload" } },
  );
}

function notMade({ connection }: CallRequest, isLost: boolean): McpSessionError {
  const code = isLost ? "SESSION_LOST" : "CONNECTION_UNAVAILABLE";
  const message = `Connection ${connection}: the user has signed in, and the call could not be made. It still waits.`;
  return new McpSessionError(code, message, { data: { connection } });
}
