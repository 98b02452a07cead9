/** The tool calls in which agents run: how they wait with their agents' calls, and how they go on. */

import { waitingResult } from "@durable-mcp/core/internal";
import type { AgentToolCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { AgentsWaiting } from "@durable-mcp/core/waiting/internal";
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
import { loadWaiting, type StoredCalls, unlessOver } from "./stored-calls.ts";

/** A call of one of the application's tools, in a run. */
interface OwnToolCall extends AgentToolCall, Pick<AgentsInTool, "waitingIn"> {
  /** As the model gave it. */
  readonly input: unknown;
  /** The waiting calls of the run; `undefined` where no call can wait. */
  readonly stored?: StoredCalls | undefined;
  readonly repeats?: RepeatedCalls | undefined;
}

/** What the scope of a run has for the tools in it. */
interface InRun {
  readonly enter: <T>(use: () => T) => T;
  readonly stored: StoredCalls | undefined;
  readonly repeats: RepeatedCalls;
}

/**
 * Executes a tool of the application so that its code, and agents in it, find the run, wherever their loop calls it:
 * the reader of a stream need not have begun in the run. While a call of an agent waits, the result is a placeholder.
 *
 * @throws as `keepAgents`
 */
export function executeInRun(
  scope: InRun | undefined,
  call: Omit<OwnToolCall, "stored" | "repeats">,
  execute: () => unknown,
): unknown {
  if (scope === undefined) return keepAgents(call, execute);
  const { stored, repeats, enter } = scope;
  const result = enter(() => keepAgents({ ...call, stored, repeats }, execute));
  return isAsyncIterable(result) ? resultsInContext(enter, result) : result;
}

/**
 * Executes a tool in which agents may run. While a call of theirs waits, the result is a placeholder, and the tool is
 * executed again when it can go on.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if a call waits in an agent whose messages are not kept
 */
function keepAgents(call: OwnToolCall, execute: () => unknown): unknown {
  const { toolCallId, input, stored, repeats, waitingIn } = call;
  const outer = currentToolCall();
  // It is executed again, or it is a tool of `agentTool` among a durable agent's own.
  if (outer?.isStarting) return execute();
  const above = around(toolCallId);
  // AI SDK 7 tells of the call, and knows the name.
  const { toolName } = above === outer ? call : outer!;
  const repeated = above ? undefined : repeats?.find?.({ toolName, toolCallId, input });
  if (repeated) return unlessRepeated(call, repeated, execute);
  const agents: AgentsInTool = { waitingIn, histories: [], begun: [], waiting: [] };
  const scope = { toolName, toolCallId, around: above, agents };
  const end: End = async () => {
    const waits = await whatWaits(scope);
    return waits && (await keep(stored, scope, { ...waits, input }));
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
export function startIn(scope: ToolCallScope, execute: () => unknown): unknown {
  return enterToolCall(scope, () => {
    scope.isStarting = true;
    try {
      return execute();
    } finally {
      scope.isStarting = false;
    }
  });
}

export type OwnScope = ToolCallScope & { readonly agents: AgentsInTool };
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
  const { connection } = call;
  const path = pathOf(scope.around);
  const own = { connection, url: new URL(call.server), tool: toolName, toolCallId, path, ...waits };
  if (stored === undefined) throw notWrapped(scope, call);
  const kept = await (await stored.callsOf(own)).parkAgents(own);
  // A step that is executed again finds the call of the first.
  await withdrawAll(scope.agents, kept.waitsFor);
  const described = (await loadWaiting()).describeWaiting(kept);
  await waitIn(scope.around, { call: described, withdraw: () => stored.withdraw(kept.id) });
  return waitingResult(described);
}

/**
 * What a tool call waits for; `undefined` for nothing.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a call that waits in an agent whose messages are not kept
 */
export async function whatWaits({ toolName, agents }: OwnScope) {
  const { begun, waiting } = agents;
  const all =
    waiting.length === 0
      ? []
      : await Promise.all(begun.map(async ({ messages = [] }) => [...(await messages)]));
  agents.isOver = true;
  if (waiting.length === 0) return undefined;
  const places = new Set(agents.waitingIn(all.flat()));
  const lost = waiting.find(({ call }) => !places.has(call.id));
  if (lost !== undefined) throw notWrapped({ toolName }, lost.call);
  // Those that the application keeps are not kept twice.
  const histories = all.map((messages, at) => (begun[at]!.isKept ? [] : messages));
  const waitsFor = [...new Set(waiting.map(({ call }) => call.id))];
  return { histories, waitsFor };
}

/** Takes back what waits in a tool call: no later step would bring a result to it. */
export async function withdrawAll(
  agents: AgentsInTool,
  but: readonly string[] = [],
): Promise<void> {
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
