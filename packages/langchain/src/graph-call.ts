import type { BaseMessage } from "@langchain/core/messages";
import { AIMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { getCurrentTaskInput } from "@langchain/langgraph";
import { type GraphTask, graphTask } from "./graph-task.ts";

/** What a tool call is for the graph around it. */
export interface GraphCall {
  /** The model's id of the call. */
  readonly toolCallId: string | undefined;
  /** What tells the call apart from another one with the same id and input, in all runs of its task. */
  readonly scope: string | undefined;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  readonly task: GraphTask;
}

/** The adapter hands the arguments of a call on to its client, and nothing else of it. */
const calls = new WeakMap<object, GraphCall>();

/** The calls of a task that have no id of a model, which are told apart by their order. */
const counts = new WeakMap<GraphTask, number>();

/** Notes a call for the client beneath the adapter. */
export function noteGraphCall(input: object, config: RunnableConfig | undefined): void {
  const task = graphTask(config);
  const known = calls.get(input);
  const { toolCall } = (config ?? {}) as { toolCall?: { id?: string } };
  const toolCallId = toolCall?.id;
  const scope = toolCallId === undefined ? scopeOfTask(task, config) : scopeOf(toolCallId, config);
  // Hooks of the application may change the arguments in their place, and before the call is made again.
  calls.set(input, { toolCallId, scope, input: known?.input ?? structuredClone(input), task });
}

/** The call with these arguments. Outside of a noted call, a call of its own. */
export function graphCallOf(input: object = {}): GraphCall {
  const task = graphTask(undefined);
  return calls.get(input) ?? { toolCallId: undefined, scope: undefined, input, task };
}

/** Models give their ids again, but each message has an id of its own. */
function scopeOf(toolCallId: string, config: RunnableConfig | undefined): string | undefined {
  const message = messagesOf(config).findLast(
    (each) =>
      AIMessage.isInstance(each) && each.tool_calls?.some(({ id }) => id === toolCallId) === true,
  );
  return message?.id;
}

function messagesOf(config: RunnableConfig | undefined): readonly BaseMessage[] {
  try {
    const input: unknown = getCurrentTaskInput(config as never);
    const messages = Array.isArray(input) ? input : (input as { messages?: unknown })?.messages;
    return Array.isArray(messages) ? (messages as BaseMessage[]) : [];
  } catch {
    // There is no graph.
    return [];
  }
}

function scopeOfTask(task: GraphTask, config: RunnableConfig | undefined): string | undefined {
  const namespace: unknown = config?.configurable?.["checkpoint_ns"];
  if (typeof namespace !== "string" || namespace === "") return undefined;
  const count = (counts.get(task) ?? 0) + 1;
  counts.set(task, count);
  return JSON.stringify([namespace, count]);
}
