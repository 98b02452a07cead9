/** The tool calls in which agents run: how they wait with their agents' calls, and how they go on. */

import { invalid, isRecord, waitingResult } from "@durable-mcp/core/internal";
import type { AgentToolCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { ClaimedOutcome, StoredCall, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import { isAsyncIterable, resultsInContext } from "../base/results-in-context.ts";
import {
  type AgentsInTool,
  currentToolCall,
  enterToolCall,
  notWrapped,
  pathOf,
  type ToolCallScope,
} from "../tools/tool-call-scope.ts";
import type { RepeatedCalls } from "./repeats.ts";
import { findPlaceholders, type Placeholder } from "./placeholders.ts";
import { isOpen, loadWaiting, type StoredCalls, unlessOver } from "./stored-calls.ts";

/** A call of one of the application's tools, in a run. */
interface OwnToolCall extends AgentToolCall {
  /** As the model gave it. */
  readonly input: unknown;
  /** Calls `use` with the waiting calls of the run; `undefined` where no call can wait. */
  readonly withStored: <T>(use: (stored: StoredCalls | undefined) => Promise<T>) => Promise<T>;
  readonly repeats?: RepeatedCalls | undefined;
}

type Execute = (...args: any[]) => unknown;

/**
 * Executes a tool in which agents may run. While a call of theirs waits, the result is a placeholder, and the tool is
 * executed again when it can go on.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if a call waits in an agent whose messages are not kept
 */
export function keepAgents(call: OwnToolCall, execute: () => unknown): unknown {
  const { toolCallId, input, withStored, repeats } = call;
  const outer = currentToolCall();
  // It is executed again, or it is a tool of `agentTool` among a durable agent's own.
  if (outer?.isStarting) return execute();
  const isTold = outer !== undefined && !outer.agents && outer.toolCallId === toolCallId;
  const { toolName } = isTold ? outer : call;
  if (repeats?.find) return unlessRepeated({ ...call, toolName }, repeats.find, execute);
  const agents: AgentsInTool = { histories: [], begun: [], waiting: [] };
  const scope = { toolName, toolCallId, around: isTold ? outer.around : outer, agents };
  const end: End = async () => {
    if (agents.waiting.length === 0) return undefined;
    return await withStored((stored) => keep(stored, scope, input));
  };
  const result = startIn(scope, execute);
  return isAsyncIterable(result) ? endLate(scope, result, end) : endSoon(scope, result, end);
}

/** Has a call of the model join one that it repeats. */
async function* unlessRepeated(
  call: OwnToolCall,
  find: NonNullable<RepeatedCalls["find"]>,
  execute: () => unknown,
) {
  const repeated = await find(call);
  const result = repeated ?? keepAgents({ ...call, repeats: undefined }, execute);
  if (isAsyncIterable(result)) yield* result;
  else yield await result;
}

/** Executes a tool in its scope. Models give ids again, so the tool finds by the time that the scope is its own. */
function startIn(scope: ToolCallScope, execute: () => unknown): unknown {
  return enterToolCall(scope, () => {
    scope.isStarting = true;
    try {
      return execute();
    } finally {
      scope.isStarting = false;
    }
  });
}

type OwnScope = ToolCallScope & { readonly agents: AgentsInTool };
type End = () => Promise<WaitingResult | undefined>;

async function endSoon({ agents }: OwnScope, result: unknown, end: End) {
  let output: unknown;
  try {
    output = await result;
  } catch (error) {
    await withdrawAll(agents);
    throw error;
  }
  return (await end()) ?? output;
}

/** Of a generator the last value is the result. */
async function* endLate(scope: OwnScope, results: AsyncIterable<unknown>, end: End) {
  try {
    yield* resultsInContext((use) => enterToolCall(scope, use), results);
  } catch (error) {
    await withdrawAll(scope.agents);
    throw error;
  }
  const placeholder = await end();
  if (placeholder !== undefined) yield placeholder;
}

/** Keeps a tool call while calls of its agents wait. @returns its placeholder; `undefined` if none waits */
async function keep(
  stored: StoredCalls | undefined,
  scope: OwnScope,
  input: unknown,
): Promise<WaitingResult | undefined> {
  const waits = await whatWaits(scope);
  if (waits === undefined) return undefined;
  const [{ call }] = scope.agents.waiting as [AgentsInTool["waiting"][number]];
  const { toolName, toolCallId } = scope;
  const { describeWaiting, keepAgentCall, tooLongToWait } = await loadWaiting();
  const { connection } = call;
  const own = { connection, url: new URL(call.server), toolName, toolCallId, input };
  const kept =
    stored &&
    (await keepAgentCall(await stored.contextOf(own), {
      ...own,
      ...waits,
      path: pathOf(scope.around),
    }));
  if (kept === undefined) {
    await withdrawAll(scope.agents);
    throw stored ? invalid(`tools.${toolName}`, tooLongToWait) : notWrapped(scope, call);
  }
  const described = describeWaiting(kept);
  const withdraw = () => stored!.withdraw(kept.id);
  scope.around?.agents?.waiting.push({ call: described, withdraw });
  return waitingResult(described);
}

/**
 * What a tool call waits for; `undefined` for nothing.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a call that waits in an agent whose messages are not kept
 */
async function whatWaits({ toolName, agents }: OwnScope) {
  const { begun, waiting } = agents;
  if (waiting.length === 0) return undefined;
  const all = await Promise.all(begun.map(async ({ messages = [] }) => [...(await messages)]));
  const places = new Set(findPlaceholders(all.flat()).map(({ id }) => id));
  const lost = waiting.find(({ call }) => !places.has(call.id));
  if (lost !== undefined) {
    await withdrawAll(agents);
    throw notWrapped({ toolName }, lost.call);
  }
  // Those that the application keeps are not kept twice.
  const histories = all.map((messages, at) => (begun[at]!.isKept ? [] : messages));
  const waitsFor = [...new Set(waiting.map(({ call }) => call.id))];
  return { histories: histories, waitsFor };
}

/** Takes back what waits in a tool call that fails: no later step would bring a result to it. */
async function withdrawAll({ waiting }: AgentsInTool): Promise<void> {
  await Promise.all(waiting.map(({ withdraw }) => withdraw().catch(unlessOver)));
}

/** Whether a call is that of a tool in which agents run, and waits. */
export function isAgentCall({ call: { kind, state } }: StoredCall): boolean {
  return kind === "agent" && state === "waiting";
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
  parked: StoredCall,
  { toolName, toolCallId, input }: Placeholder,
  tool: ToolSet[string] | undefined,
  abortSignal?: AbortSignal,
): Promise<StoredCall> {
  const { call } = parked;
  if (await waitsOnly(stored, call)) return parked;
  const { execute } = (tool ?? {}) as { execute?: Execute };
  if (execute === undefined) {
    const field = `tools.${toolName}`;
    throw invalid(
      field,
      `${field} is missing: a call of its agent has its result, and it goes on.`,
    );
  }
  const { sendClaimed } = await loadWaiting();
  const agents: AgentsInTool = { histories: call.histories ?? [], begun: [], waiting: [] };
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
      // What is aborted goes on from where it was.
      if (abortSignal?.aborted) return { type: "not-sent", error };
      await withdrawAll(agents);
      const message = error instanceof Error ? error.message : String(error);
      return { type: "settles", answer: { error: { code: -32_603, message } } };
    }
  };
  // Nothing is done if another process was first.
  await sendClaimed(await stored.contextOf(call), parked, run).catch(unlessOver);
  abortSignal?.throwIfAborted();
  return (await stored.read(call.id)) ?? parked;
}

/** Whether no agent of a call can go on yet. What is in no store of this run may have its result. */
async function waitsOnly(stored: StoredCalls, { waitsFor = [] }: WaitingRecord): Promise<boolean> {
  const open = await Promise.all(
    waitsFor.map(async (id) => {
      const found = await stored.read(id);
      // Whether the user has signed in is not in the store.
      if (found === undefined || !isOpen(found) || found.call.kind === "authorization")
        return false;
      return found.call.kind === "input" || (await waitsOnly(stored, found.call));
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

/** The output of a tool in which agents ran. */
export function agentOutput(result: unknown): unknown {
  return isRecord(result) ? result["output"] : undefined;
}
