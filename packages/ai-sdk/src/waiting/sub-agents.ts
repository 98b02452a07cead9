/** The tool calls in which agents run: how they wait with their agents' calls, and how they go on. */

import { invalid, waitingResult } from "@durable-mcp/core/internal";
import type { AgentToolCall, WaitingResult } from "@durable-mcp/core/waiting";
import type {
  AgentsWaiting,
  ClaimedOutcome,
  StoredCall,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import { isAsyncIterable, resultsInContext } from "../base/results-in-context.ts";
import {
  type AgentsInTool,
  around,
  currentToolCall,
  enterToolCall,
  notWrapped,
  pathOf,
  type ToolCallScope,
  waitIn,
} from "../tools/tool-call-scope.ts";
import type { RepeatedCalls } from "./repeats.ts";
import { findPlaceholders, type Placeholder } from "./placeholders.ts";
import {
  isOpen,
  isStoreFailure,
  loadWaiting,
  type StoredCalls,
  unlessOver,
} from "./stored-calls.ts";

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
  const above = around(toolCallId);
  // AI SDK 7 tells of the call, and knows the name.
  const { toolName } = above === outer ? call : outer!;
  const repeated = above ? undefined : repeats?.find?.({ toolName, toolCallId, input });
  if (repeated) return unlessRepeated(call, repeated, execute);
  const agents: AgentsInTool = { histories: [], begun: [], waiting: [] };
  const scope = { toolName, toolCallId, around: above, agents };
  const end: End = async () => {
    const waits = await whatWaits(scope);
    return waits && (await withStored((stored) => keep(stored, scope, { ...waits, input })));
  };
  const result = startIn(scope, execute);
  return isAsyncIterable(result) ? endLate(scope, result, end) : endSoon(scope, result, end);
}

/** Has a call of the model join one that it repeats. */
async function* unlessRepeated(
  call: OwnToolCall,
  repeated: Promise<WaitingResult | undefined>,
  execute: () => unknown,
) {
  const result = (await repeated) ?? keepAgents({ ...call, repeats: undefined }, execute);
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
  try {
    const output = await result;
    return (await end()) ?? output;
  } catch (error) {
    await withdrawAll(agents);
    throw error;
  }
}

/** Of a generator the last value is the result. One that nobody reads to its end has none. */
async function* endLate(scope: OwnScope, results: AsyncIterable<unknown>, end: End) {
  let isEnded = false;
  try {
    yield* resultsInContext((use) => enterToolCall(scope, use), results);
    const placeholder = await end();
    isEnded = true;
    if (placeholder !== undefined) yield placeholder;
  } finally {
    if (!isEnded) await withdrawAll(scope.agents);
  }
}

/** Keeps a tool call while calls of its agents wait. @returns its placeholder */
async function keep(
  stored: StoredCalls | undefined,
  scope: OwnScope,
  waits: AgentsWaiting & Pick<OwnToolCall, "input">,
): Promise<WaitingResult> {
  const [{ call }] = scope.agents.waiting as [AgentsInTool["waiting"][number]];
  const { toolName, toolCallId } = scope;
  const { describeWaiting, keepAgentCall, tooLongToWait } = await loadWaiting();
  const { connection } = call;
  const path = pathOf(scope.around);
  const own = { connection, url: new URL(call.server), tool: toolName, toolCallId, path, ...waits };
  const kept = stored && (await keepAgentCall(await stored.contextOf(own), own));
  if (kept === undefined)
    throw stored ? invalid(`tools.${toolName}`, tooLongToWait) : notWrapped(scope, call);
  // A step that is executed again finds the call of the first.
  await withdrawAll(scope.agents, kept.waitsFor);
  const described = describeWaiting(kept);
  await waitIn(scope.around, { call: described, withdraw: () => stored!.withdraw(kept.id) });
  return waitingResult(described);
}

/**
 * What a tool call waits for; `undefined` for nothing.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a call that waits in an agent whose messages are not kept
 */
async function whatWaits({ toolName, agents }: OwnScope) {
  const { begun, waiting } = agents;
  const all =
    waiting.length === 0
      ? []
      : await Promise.all(begun.map(async ({ messages = [] }) => [...(await messages)]));
  agents.isOver = true;
  if (waiting.length === 0) return undefined;
  const places = new Set(findPlaceholders(all.flat()).map(({ id }) => id));
  const lost = waiting.find(({ call }) => !places.has(call.id));
  if (lost !== undefined) throw notWrapped({ toolName }, lost.call);
  // Those that the application keeps are not kept twice.
  const histories = all.map((messages, at) => (begun[at]!.isKept ? [] : messages));
  const waitsFor = [...new Set(waiting.map(({ call }) => call.id))];
  return { histories, waitsFor };
}

/** Takes back what waits in a tool call: no later step would bring a result to it. */
async function withdrawAll(agents: AgentsInTool, but: readonly string[] = []): Promise<void> {
  agents.isOver = true;
  const lost = agents.waiting.filter(({ call }) => !but.includes(call.id));
  await Promise.all(lost.map(({ withdraw }) => withdraw().catch(unlessOver)));
}

const agentName = Symbol("durable-mcp.agentName");

/** Where AI SDK does not say under which name a tool is called, its calls are kept under this one. */
export const withAgentName = <TOOL extends object>(tool: TOOL, name: string): TOOL => ({
  ...tool,
  [agentName]: name,
});
export const agentNameOf = (tool: object | undefined): unknown =>
  tool && Reflect.get(tool, agentName);

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
      // What is aborted goes on from where it was, and so does what the store has failed.
      const goesOn = abortSignal?.aborted || isStoreFailure(error);
      await withdrawAll(agents, goesOn ? call.waitsFor : []);
      if (goesOn) return { type: "not-sent", error };
      const message = error instanceof Error ? error.message : String(error);
      return { type: "settles", answer: { error: { code: -32_603, message } } };
    }
  };
  // Nothing is done if another process was first.
  const sent = await sendClaimed(await stored.contextOf(call), parked, run).catch(unlessOver);
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
      if (found === undefined || !isOpen(found) || found.call.kind === "authorization")
        return false;
      return found.call.kind !== "agent" || (await waitsOnly(stored, found.call));
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
