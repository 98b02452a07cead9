import { McpSessionError } from "@durable-mcp/ai-sdk";
import {
  answerWithoutSecrets,
  boundedCall,
  type LiveConnection,
  ownResult,
} from "@durable-mcp/ai-sdk/internal";
import { wait, waitingResult } from "@durable-mcp/core/internal";
import { type InputResponses, type WaitingCall } from "@durable-mcp/core/waiting";
import {
  describeWaiting,
  goneCall,
  waitingFailure,
  type WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { bridgeClient } from "./bridge-client.ts";
import type { GraphCall } from "./graph-call.ts";
import { isUnclear, problemOf, refuseUnclear, repeatInterrupts } from "./graph-answers.ts";
import { GraphUnavailable } from "./graph-task.ts";

/** The value of a graph's interrupt for a call that waits for a person. */
export interface WaitingInterrupt extends WaitingCall {
  /** Why the answer before was not sent, if there was one. The questions are the same. */
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
  readonly connection: LiveConnection;
  readonly tool: { readonly name: string; readonly annotations?: unknown };
  readonly input: unknown;
  readonly graph: GraphCall;
  readonly signal: AbortSignal | undefined;
}

/** The pause before another look at a call that another process answers, in milliseconds. */
const lookMs = 500;

/**
 * Calls a tool of a connection that pauses. When its server asks a person, the graph is interrupted; in the next run
 * of its task the answer is sent. Where no graph can be interrupted, the result is the placeholder.
 */
export async function pausingCall(call: PausingCall): Promise<CallToolResult> {
  const leave = call.graph.task.enter();
  try {
    const { record, result } = await firstLook(call);
    return record === undefined ? result! : await goOn(call, record, leave);
  } finally {
    leave();
  }
}

/** Sends the first leg, or finds out that it was sent before. */
async function firstLook({ connection, tool, input, graph, signal: abortSignal }: PausingCall) {
  const { toolCallId, scope } = graph;
  let record: WaitingRecord | undefined;
  const onCall = (found: WaitingRecord) => void (record = found);
  const attempt = async (signal: AbortSignal | undefined, args: Record<string, unknown>) =>
    await send(connection, tool.name, args, signal);
  try {
    const called = { tool, input, modelInput: graph.input, toolCallId, scope, onCall };
    return { result: await boundedCall(connection, called, attempt, { abortSignal }), record };
  } catch (error) {
    if (record === undefined) throw error;
    // The error says why the call is over, and the record says it too.
    return { record };
  }
}

async function send(
  connection: LiveConnection,
  name: string,
  input: Record<string, unknown>,
  signal: AbortSignal | undefined,
): Promise<CallToolResult> {
  const called = { name, arguments: input };
  const result = await bridgeClient(connection).callTool(called, undefined, signal && { signal });
  return result as CallToolResult;
}

/** Goes on with a call that was asked something, as far as its questions have answers. */
async function goOn(
  call: PausingCall,
  found: WaitingRecord,
  leave: () => void,
): Promise<CallToolResult> {
  const { connection, graph, signal } = call;
  const pausing = connection.pausing!;
  let record = found;
  let failed: { readonly round: number; readonly error: unknown } | undefined;
  for (;;) {
    const { answers, isAnswered } = repeatInterrupts(record, graph.task);
    const { id, round, state } = record;
    if (state === "answering") {
      await wait(lookMs, signal);
    } else if (state !== "waiting") {
      return await settled(call, record);
    } else if (!isAnswered || failed?.round === round) {
      const error = failed?.round === round ? failed.error : problemOf(record, answers);
      leave();
      return await ask(call, record, error);
    } else {
      try {
        const answer = answers.at(-1)!;
        await refuseUnclear(pausing, graph.task, record, answer);
        const responses = answer.value as InputResponses;
        record = await pausing.answer(record, responses, { round, signal });
        continue;
      } catch (error) {
        if (signal?.aborted || !McpSessionError.isInstance(error)) throw error;
        failed = { round, error };
      }
    }
    const current = await pausing.read(id);
    if (current === undefined) throw goneCall();
    record = current;
  }
}

/** The result of a call that is over: what the connection's client makes of the server's answer. */
async function settled(
  { connection, tool, graph, signal }: PausingCall,
  record: WaitingRecord,
): Promise<CallToolResult> {
  const { restoreError } = connection;
  const answer = answerWithoutSecrets(record, graph.input);
  if (answer === undefined) throw waitingFailure(record);
  try {
    return await ownResult(connection, { answer }, graph.input, async (marked) =>
      send(connection, tool.name, marked, signal),
    );
  } catch (error) {
    throw restoreError(error, { method: "tools/call" });
  }
}

async function ask(
  { connection, graph }: PausingCall,
  record: WaitingRecord,
  error: unknown,
): Promise<CallToolResult> {
  const { id, round } = record;
  const { checkpoint } = graph.task;
  const unclearly = isUnclear(error) ? { isUnclear: true as const } : {};
  const described: WaitingInterrupt = {
    ...describeWaiting(record),
    ...(McpSessionError.isInstance(error) && { error: describeError(error) }),
  };
  const note = async (place: number) => {
    try {
      await connection.pausing!.show(id, { round, place, checkpoint, ...unclearly });
    } catch (failure) {
      // Answered meanwhile, so the next run asks the next question.
      const isOver = McpSessionError.isInstance(failure) && failure.code === "NOT_WAITING";
      if (!isOver) throw failure;
    }
  };
  try {
    return await graph.task.interrupt(described, note);
  } catch (failure) {
    if (failure instanceof GraphUnavailable) return placeholderOf(record);
    throw failure;
  }
}

function describeError({ code, message, data }: McpSessionError): NotSent {
  return { code, message, ...(data.field !== undefined && { field: data.field }) };
}

function placeholderOf(record: WaitingRecord): CallToolResult {
  return waitingResult(describeWaiting(record)) as unknown as CallToolResult;
}
