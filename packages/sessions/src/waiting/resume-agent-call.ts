/** How a tool goes on in which agents run, when a call of theirs has its result. */

import { isStoreFailure } from "../base/store-failure.ts";
import { invalid } from "@durable-mcp/core/internal";
import type {
  AgentCall,
  ClaimedOutcome,
  StoredCall,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { AgentToolCall } from "@durable-mcp/core/waiting";
import { isAsyncIterable, resultsInContext } from "../base/results-in-context.ts";
import { type AgentsInTool, currentToolCall, enterToolCall } from "../tools/tool-call-scope.ts";
import { isOpen, type StoredCalls, unlessOver } from "./stored-calls.ts";
import { type OwnScope, startIn, whatWaits, withdrawAll } from "./sub-agents.ts";

/** Where a tool is executed again. */
interface CallAgain extends AgentToolCall, Pick<AgentsInTool, "waitingIn"> {
  /** As the model gave it. */
  readonly input: unknown;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Whether a call is that of a tool in which agents run, and waits. */
export function isAgentCall(stored: StoredCall): stored is StoredCall<AgentCall> {
  return stored.call.type === "sub-agent" && stored.call.state === "waiting";
}

/**
 * Executes a tool again in which agents run, when one of them can go on.
 *
 * @param tool the tool of that name in this step
 * @returns the call as it is then
 * @throws {McpSessionError} `CONNECTION_INVALID` without the tool; `STORE_FAILED`
 */
export async function resumeAgentCall(
  stored: StoredCalls,
  parked: StoredCall<AgentCall>,
  { toolName, toolCallId, input, abortSignal, waitingIn }: CallAgain,
  tool: object | undefined,
): Promise<StoredCall> {
  const { call } = parked;
  if (await waitsOnly(stored, call)) return parked;
  const { execute } = (tool ?? {}) as { execute?: (...args: unknown[]) => unknown };
  if (execute === undefined) {
    const field = `tools.${toolName}`;
    throw invalid(
      field,
      `${field} is missing: a call of its agent has its result, and it goes on.`,
    );
  }
  const { histories } = call;
  const agents: AgentsInTool = { waitingIn, histories, begun: [], waiting: [] };
  const scope = { toolName, toolCallId, around: currentToolCall(), agents };
  const run = async (): Promise<ClaimedOutcome> => {
    try {
      const use = { toolCallId, messages: [], abortSignal };
      const result = startIn(scope, () => execute.call(tool, input, use));
      const output = isAsyncIterable(result) ? await lastOf(scope, result) : await result;
      const waits = await whatWaits(scope);
      if (waits !== undefined) return { type: "waits-on", ...waits };
      // As the store has it.
      const [json] = JSON.parse(JSON.stringify([output ?? null])) as [unknown];
      return { type: "settles", answer: { result: { output: json } } };
    } catch (error) {
      // What is aborted goes on from where it was, and so does what the store has failed.
      const goesOn = abortSignal?.aborted || isStoreFailure(error);
      await withdrawAll(agents, goesOn ? call.waitsFor : []);
      if (goesOn) return { type: "not-sent", error };
      const message = error instanceof Error ? error.message : String(error);
      return { type: "settles", answer: { error: { code: -32_603, message } } };
    }
  };
  // Nothing is done if another process was first.
  const sent = await (await stored.callsOf(call)).sendClaimed(parked, run).catch(unlessOver);
  abortSignal?.throwIfAborted();
  if (sent?.failure) throw sent.failure.error;
  return (await stored.read(call.id)) ?? parked;
}

/** Whether no agent of a call can go on yet. What is in no store of this run may have its result. */
async function waitsOnly(stored: StoredCalls, { waitsFor = [] }: WaitingRecord): Promise<boolean> {
  const open = await Promise.all(
    waitsFor.map(async (id) => {
      const known = await stored.read(id);
      const found = known && (await stored.look(known));
      // Whether the user has signed in is not in the store.
      if (found === undefined || !isOpen(found) || found.call.type === "call-waits-for-sign-in")
        return false;
      return found.call.type !== "sub-agent" || (await waitsOnly(stored, found.call));
    }),
  );
  return open.every(Boolean);
}

async function lastOf(scope: OwnScope, results: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  const inScope = resultsInContext((use) => enterToolCall(scope, use), results);
  for await (const result of inScope) last = result;
  return last;
}
