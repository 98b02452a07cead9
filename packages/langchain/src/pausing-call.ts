import { McpSessionError, type OfferedTool } from "@durable-mcp/sessions";
import type { ObserveProgress } from "@durable-mcp/sessions/internal";
import { wait, waitingResult } from "@durable-mcp/core/internal";
import { type InputResponses, type WaitingCall } from "@durable-mcp/core/waiting";
import {
  describeWaiting,
  goneCall,
  type KeptCalls,
  waitingFailure,
  type WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { GraphCall } from "./graph-call.ts";
import { isUnclear, problemOf, refuseUnclear, repeatInterrupts } from "./graph-answers.ts";

/**
 * The value of a graph's interrupt for a call that waits: for a person, a sign-in, or its server (types `task` and
 * `stream`). For its server, resume the graph with any value, not before `pollAfter`: the call then asks the server.
 */
export interface WaitingInterrupt extends WaitingCall {
  /** Where the user signs in, while the call waits for that. Resume the graph with any value afterwards. */
  readonly startUrl?: string | undefined;
  /** Why the last answer was not sent, or the call not made. The questions are the same. */
  readonly error?: NotSent | undefined;
}

interface NotSent {
  /** `INPUT_INVALID` for an answer that does not fit, or the code that says why the server did not take it. */
  readonly code: string;
  readonly message: string;
  /** The part of the answer that does not fit, such as `confirm.content.ok`. */
  readonly field?: string | undefined;
}

interface PausingCall {
  readonly tool: OfferedTool;
  readonly input: Record<string, unknown> | undefined;
  readonly graph: GraphCall;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly onProgress: ObserveProgress | undefined;
}

/** Whether a call waits for a sign-in. */
const isParked = ({ type, state }: WaitingRecord) =>
  type === "call-waits-for-sign-in" && state === "waiting";

/** The pause before another look at a call that another process answers, in milliseconds. */
const lookMs = 500;

/**
 * Calls a tool. When its server asks a person, or its user has to sign in, the graph is interrupted; in the next run
 * of its task the answer is sent, or the call is made. Where no graph can be interrupted, the result is the
 * placeholder, and a call that needs a sign-in fails.
 */
export async function pausingCall(call: PausingCall): Promise<CallToolResult> {
  const { input, graph, signal: abortSignal, timeoutMs, onProgress } = call;
  const { pausing, signIn, name } = call.tool.on;
  const { input: modelInput, toolCallId, scope, task } = graph;
  const begin = async () =>
    await call.tool.begin({
      ...{ input, modelInput, toolCallId, scope, abortSignal, timeoutMs, onProgress },
      mayPark: task.canInterrupt,
    });
  const callsOf = pausing?.callsOf ?? signIn?.callsOf;
  if (callsOf === undefined) return CallToolResultSchema.parse((await begin()).result);
  const leave = task.enter();
  try {
    const { record, result } = await begin();
    const calls = await callsOf({ connection: name });
    return record === undefined
      ? CallToolResultSchema.parse(result)
      : await goOn(call, calls, record, leave);
  } finally {
    leave();
  }
}

/** Goes on with a call that waits, as far as its questions have answers, or its user has signed in. */
async function goOn(
  call: PausingCall,
  calls: KeptCalls,
  found: WaitingRecord,
  leave: () => void,
): Promise<CallToolResult> {
  const { tool, graph, signal } = call;
  const { pausing } = tool.on;
  let record = found;
  let failed: { readonly round: number; readonly error: unknown } | undefined;
  for (;;) {
    const { answers, isAnswered } = repeatInterrupts(record, graph.task);
    const { id, round, state } = record;
    if (state === "answering") {
      await wait(lookMs, signal);
    } else if (state !== "waiting") {
      return settled(record);
    } else if (isParked(record)) {
      const looked = await lookForSignIn(call, calls, record).catch((error: unknown) => {
        if (signal?.aborted || !McpSessionError.isInstance(error)) throw error;
        return { record, error };
      });
      ({ record } = looked);
      if (!isParked(record)) continue;
      leave();
      return await ask(call, calls, record, looked);
    } else if (record.pollAfter !== undefined) {
      // Whatever the graph was told: the server says how the call is.
      ({ call: record } = await pausing!.look(await readCall(calls, id), signal));
      if (record.pollAfter === undefined) continue;
      leave();
      return await ask(call, calls, record, {});
    } else if (!isAnswered || failed?.round === round) {
      const error = failed?.round === round ? failed.error : problemOf(record, answers);
      leave();
      return await ask(call, calls, record, { error });
    } else {
      try {
        const answer = answers.at(-1)!;
        await refuseUnclear(calls, graph.task, record, answer);
        const responses = answer.value as InputResponses;
        record = await pausing!.answer(record, responses, { round, signal });
        continue;
      } catch (error) {
        if (signal?.aborted || !McpSessionError.isInstance(error)) throw error;
        failed = { round, error };
      }
    }
    record = (await readCall(calls, id)).call;
  }
}

async function readCall(calls: KeptCalls, id: string) {
  const stored = await calls.read(id);
  if (stored === undefined) throw goneCall();
  return stored;
}

/** Makes a call if its user has signed in. @returns the call as it is then, and where the sign-in starts */
async function lookForSignIn(
  { tool }: PausingCall,
  calls: KeptCalls,
  parked: WaitingRecord,
): Promise<{ readonly record: WaitingRecord; readonly startUrl?: string | undefined }> {
  const { signIn } = tool.on;
  const pending = await signIn?.pending();
  if (pending !== undefined) return { record: parked, startUrl: pending.startUrl };
  const found = await readCall(calls, parked.id);
  const { call } = await signIn!.resume!(found, tool.listed);
  // The server may have refused it again.
  const again = isParked(call) ? await signIn?.pending() : undefined;
  return { record: call, startUrl: again?.startUrl };
}

/** The result of a call that is over. */
function settled(record: WaitingRecord): CallToolResult {
  const { answer } = record;
  if (answer === undefined) throw waitingFailure(record);
  if (answer.error !== undefined) throw new Error(answer.error.message);
  return CallToolResultSchema.parse(answer.result);
}

async function ask(
  { graph }: PausingCall,
  calls: KeptCalls,
  record: WaitingRecord,
  { error, startUrl }: { readonly error?: unknown; readonly startUrl?: string | undefined },
): Promise<CallToolResult> {
  const { id, round } = record;
  const { checkpoint, canInterrupt } = graph.task;
  if (!canInterrupt) return waitingResult(describeWaiting(record)) as unknown as CallToolResult;
  const unclearly = isUnclear(error) ? { isUnclear: true as const } : {};
  const described: WaitingInterrupt = {
    ...describeWaiting(record),
    ...(startUrl !== undefined && { startUrl }),
    ...(McpSessionError.isInstance(error) && { error: describeError(error) }),
  };
  return await graph.task.interrupt(described, async (place) => {
    try {
      await calls.show(id, { round, place, checkpoint, ...unclearly });
    } catch (failure) {
      // Answered meanwhile, so the next run asks the next question.
      const isOver = McpSessionError.isInstance(failure) && failure.code === "NOT_WAITING";
      if (!isOver) throw failure;
    }
  });
}

function describeError({ code, message, data }: McpSessionError): NotSent {
  return { code, message, ...(data.field !== undefined && { field: data.field }) };
}
