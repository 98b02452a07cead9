import { McpSessionError } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { AgentToolCall, WaitingCall } from "@durable-mcp/core/waiting";
import { createAsyncContext } from "../base/async-context.ts";
import type { SignIn } from "../connection/waiting-parts.ts";

type Messages = readonly Readonly<Record<string, unknown>>[];

/** The agents that run in a tool call whose result can come in a later step. */
export interface AgentsInTool {
  /** The ids of the calls that wait in an agent's messages. */
  readonly waitingIn: (messages: Messages) => readonly string[];
  /** The messages of those that began in an earlier step, in the order in which they began. */
  readonly histories: readonly Messages[];
  /** Those that began in this step, and their messages afterwards. */
  readonly begun: { messages?: PromiseLike<Messages> | Messages | undefined; isKept?: boolean }[];
  /** Their calls that wait. */
  readonly waiting: WaitingBelow[];
  /** Whether the tool has its result, so that nobody looks at `waiting` any more. */
  isOver?: boolean;
}

interface WaitingBelow {
  readonly call: WaitingCall;
  readonly withdraw: () => Promise<unknown>;
}

/** A tool call of an agent, for the code below it. */
export interface ToolCallScope extends AgentToolCall {
  readonly around: ToolCallScope | undefined;
  /** Not there if no later step would bring a result to the call. */
  readonly agents?: AgentsInTool | undefined;
  /** Whether its tool is just being executed: until that returns a promise, or a generator. */
  isStarting?: boolean;
  /** Why the call must end: a call waits below it all the same. */
  failure?: McpSessionError;
}

const toolCalls = createAsyncContext<ToolCallScope | undefined>("toolCalls");
export const currentToolCall = toolCalls.current;
export const enterToolCall = toolCalls.enter;

/** The tool call in which an agent's call of a connection's tool is made; `undefined` for the root agent's. */
export function around(toolCallId: string | undefined): ToolCallScope | undefined {
  const scope = toolCalls.current();
  // AI SDK 7 tells of the call itself, too.
  const isOwn = scope !== undefined && !scope.agents && scope.toolCallId === toolCallId;
  return isOwn ? scope.around : scope;
}

/** The tool calls around a call, the root agent's first; `undefined` for the root agent's own. */
export function pathAround(toolCallId: string | undefined): AgentToolCall[] | undefined {
  return pathOf(around(toolCallId));
}

export function pathOf(scope: ToolCallScope | undefined): AgentToolCall[] | undefined {
  const path: AgentToolCall[] = [];
  for (let each = scope; each !== undefined; each = each.around) {
    const { toolName, toolCallId } = each;
    if (each.agents) path.unshift({ toolName, toolCallId });
  }
  return path.length > 0 ? path : undefined;
}

/**
 * Has the tool calls around a call know that it waits.
 *
 * @param result of the call, which waits if it is a placeholder
 * @throws {McpSessionError} `CONNECTION_INVALID` if the call waits, and its result would reach no agent; the call is
 *   taken back then
 */
export async function waitBelow<T>(
  result: T,
  toolCallId: string | undefined,
  of: Pick<SignIn, "callsOf"> | undefined,
): Promise<T> {
  const call = waitingCallOf(result);
  if (call === undefined) return result;
  const withdraw = async () => await (await of!.callsOf!(call)).withdraw(call.id);
  await waitIn(around(toolCallId), { call, withdraw });
  return result;
}

/** Has a tool call know that a call below it waits. @throws {McpSessionError} as `waitBelow` */
export async function waitIn(scope: ToolCallScope | undefined, below: WaitingBelow): Promise<void> {
  if (scope?.agents && !scope.agents.isOver) scope.agents.waiting.push(below);
  else if (scope !== undefined) {
    await below.withdraw();
    throw (scope.failure = notWrapped(scope, below.call));
  }
}

/** A call waits in an agent to which no later step would bring its result. */
export function notWrapped(
  { toolName }: Pick<AgentToolCall, "toolName">,
  { connection, tool, type }: Pick<WaitingCall, "connection" | "tool" | "type">,
): McpSessionError {
  const field = `tools.${toolName}`;
  const isBegun = type !== "call-waits-for-sign-in";
  const fate = isBegun ? "How far it had got is unknown." : "It was not carried out.";
  return new McpSessionError(
    "CONNECTION_INVALID",
    `${field} runs an agent whose call of ${tool} (connection ${connection}) waits. Make the tool with agentTool({ agent }), so that the result gets back to it. The call was taken back. ${fate}`,
    { data: { field, connection } },
  );
}

/** An agent that runs in a tool call whose result can come in a later step. */
export interface AgentInTool {
  /** Whether it was asked with the empty text of one that waits. It begins when that one has gone on. */
  readonly isLate: boolean;
  /** Whether it has begun in an earlier step. */
  readonly goesOn: boolean;
  /** Its messages of an earlier step, with which it goes on; `undefined` if the application keeps them. */
  readonly history: Messages | undefined;
  /** Whether calls in the tool wait. */
  readonly waits: boolean;
  /** @param isKept whether the application keeps them */
  keep(messages: AgentsInTool["begun"][number]["messages"], isKept?: boolean): void;
  /** Names the tool call among those of all owners. Models give their ids again. */
  key(input: unknown, owner: string | undefined): Promise<string>;
}

/** An agent that begins in a tool call; `undefined` for any other agent. */
export function beginAgent(): AgentInTool | undefined {
  const call = toolCalls.current();
  const agents = call?.agents;
  if (agents === undefined) return undefined;
  const own: AgentsInTool["begun"][number] = {};
  const isLate = agents.waiting.length > 0 && agents.begun.length >= agents.histories.length;
  const history = isLate ? undefined : agents.histories[agents.begun.length];
  if (!isLate) agents.begun.push(own);
  return {
    isLate,
    goesOn: history !== undefined,
    history: history && history.length > 0 ? history : undefined,
    get waits() {
      return agents.waiting.length > 0;
    },
    keep: (messages, isKept = false) => void Object.assign(own, { messages, isKept }),
    async key(input, owner) {
      const { callId } = await import("@durable-mcp/core/waiting/internal");
      const { toolCallId } = call!;
      return await callId({ input, toolCallId, path: pathOf(call), scope: owner });
    },
  };
}

/** The part of Node's `diagnostics_channel` that is used. */
interface DiagnosticsChannel {
  tracingChannel?(name: string): {
    readonly start: {
      bindStore(store: unknown, transform: (message: any) => ToolCallScope | undefined): void;
    };
  };
}

/** Has AI SDK 7 tell of the tool calls of all its agents, with its tracing channel. */
export function followToolCalls(): void {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (id: string) => DiagnosticsChannel | undefined };
  };
  const storage = toolCalls.storage();
  let channels: DiagnosticsChannel | undefined;
  try {
    channels = process?.getBuiltinModule?.("node:diagnostics_channel");
  } catch {
    // Next's edge runtime has the function, and throws when it is called.
  }
  if (storage === undefined) return;
  channels?.tracingChannel?.("ai:telemetry").start.bindStore(storage, ({ type, event }) => {
    const outer = storage.getStore();
    if (type !== "executeTool") return outer;
    const { toolName, toolCallId } = event.toolCall as AgentToolCall;
    return { toolName, toolCallId, around: outer };
  });
}
