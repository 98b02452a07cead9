import { auth, createMCPClient, type MCPClientConfig, type OAuthClientProvider } from "@ai-sdk/mcp";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import {
  type CallToolResult,
  type ClientOpener,
  type ConnectionRun,
  type Connections,
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type DurableSessionsOptions,
  type McpClientConnectionOptions,
  type RunWaiting,
  type ToolFace,
} from "@durable-mcp/sessions";
import type { ToyMessage, ToyTool, ToyTools } from "./toy-framework.ts";

/** What makes clients: those of the framework, or, as it has none, any other. They take the `fetch` of the transport. */
const clients: ClientOpener = {
  async createClient({ signal, onElicitation: _never, ...config }) {
    const initializationOptions = { signal };
    return await createMCPClient({ ...config, initializationOptions } as MCPClientConfig);
  },
  renewLogin: async (provider, of) =>
    (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED",
};

/** Declares an MCP server. */
export const defineToyConnection = (options: McpClientConnectionOptions) =>
  defineMcpClientConnection(options, clients);

/** Tools in the framework's form, and results in its messages. */
const toyFace: ToolFace = {
  dress: (tool): ToyTool => ({
    about: tool.listed.description ?? "",
    input: tool.inputSchema,
    async run(input, callId) {
      // The framework cannot ask a person whether a call may run.
      const refusal = await tool.unapproved(input);
      const result = refusal ?? (await tool.call(input, { toolCallId: callId }));
      // The placeholder of a call that waits stands in the conversation as it is, until `resume`.
      return waitingCallOf(result) ? result : textOf(result, tool.noticeFor?.(result, callId));
    },
  }),
  async resume(resumption, _scope, given, { tools }) {
    const messages = given as readonly ToyMessage[];
    const found = findWaiting(messages);
    const { ends, stillWaiting } = await resumption.resume({
      places: found.map(({ place }) => place),
      tools: tools as ToyTools,
      waitingIn: (below) =>
        findWaiting(below as readonly ToyMessage[]).map(({ place }) => place.id),
    });
    const own = [...messages];
    for (const [index, end] of ends.entries()) {
      const { message, at } = found[index]!;
      if (end.state === "over") own[at] = { ...message, output: textOf(end.output) };
      if (end.state === "failed") own[at] = { ...message, output: String(end.error) };
    }
    return { messages: own, goesOn: stillWaiting.length === 0 } satisfies ResumedToy;
  },
};

/** Finds the placeholders in a conversation, or in that of an agent in a tool. */
const findWaiting = (messages: readonly ToyMessage[]) =>
  messages.flatMap((message, at) => {
    const call = message.by === "tool" && waitingCallOf(message.output);
    if (!call) return [];
    const { callId, tool, input } = message;
    return [{ message, at, place: { id: call.id, toolCallId: callId, toolName: tool, input } }];
  });

/** What the model reads of a result, and of the loss of a session. */
function textOf(result: unknown, notice?: string): string {
  const { content = [] } = result as CallToolResult;
  const texts = content.map(({ type, text }) => (type === "text" ? String(text) : `(${type})`));
  return [...texts, ...(notice === undefined ? [] : [notice])].join("\n");
}

interface ResumedToy {
  /** With the results of calls that have waited. */
  readonly messages: ToyMessage[];
  /** Whether no call waits any more, so that the model has something to do. */
  readonly goesOn: boolean;
}

/** A run with what the face has made. */
export interface ToyRun<CONNECTIONS extends Connections> extends ConnectionRun<CONNECTIONS> {
  tools(): Promise<ToyTools>;
  readonly waiting: RunWaiting & {
    resume(
      messages: readonly ToyMessage[],
      options: { readonly tools: ToyTools },
    ): Promise<ResumedToy>;
  };
}

/** Creates the sessions of agents of the framework. */
export function createToySessions<CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): DurableSessions<CONNECTIONS, ToyRun<CONNECTIONS>> {
  return createDurableSessions(options, toyFace);
}

/** Whether the agent stops: a model would comment on a placeholder, or make the call again. */
export const pausesForCall = (output: unknown): boolean => waitingCallOf(output) !== undefined;
