import {
  auth,
  createMCPClient,
  ElicitationRequestSchema,
  type MCPClientConfig,
  type OAuthClientProvider,
} from "@ai-sdk/mcp";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import {
  type CallToolResult,
  type ClientOpener,
  type Connections,
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type DurableSessionsOptions,
  type FacedRun,
  type McpClientConnectionOptions,
  type PlaceEnd,
  type ResumeOptions,
  type ToolFace,
} from "@durable-mcp/sessions";
import type { ToyMessage, ToyTool, ToyTools } from "./toy-framework.ts";

/** What makes clients: those of the framework, or, as it has none, any other. They take the `fetch` of the transport. */
const clients: ClientOpener = {
  async createClient({ signal, onElicitation, ...config }) {
    const initializationOptions = { signal };
    const client = await createMCPClient({ ...config, initializationOptions } as MCPClientConfig);
    if (onElicitation) client.onElicitationRequest(ElicitationRequestSchema, onElicitation);
    return client;
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
  async resume(resumption, _scope, messages: readonly ToyMessage[], { tools }: ToyResume) {
    const found = findWaiting(messages);
    const places = found.map(({ place }) => place);
    const { ends, stillWaiting } = await resumption.resume({ places, tools });
    const own = [...messages];
    for (const [index, end] of ends.entries()) {
      const { message, at } = found[index]!;
      own[at] = { ...message, output: outputOf(end) ?? message.output };
    }
    return { messages: own, goesOn: stillWaiting.length === 0 } satisfies ResumedToy;
  },
};

/** What takes a place; `undefined` as long as its call waits, unless there is a new placeholder. */
function outputOf(end: PlaceEnd): unknown {
  if (end.state === "waits") return end.placeholder;
  return end.state === "over" ? textOf(end.output, end.notice) : String(end.error);
}

/** Finds the placeholders in a conversation. */
const findWaiting = (messages: readonly ToyMessage[]) =>
  messages.flatMap((message, at) => {
    const call = message.by === "tool" && waitingCallOf(message.output);
    if (!call) return [];
    const { callId: toolCallId, tool: toolName, input } = message;
    const { id, repeats } = call;
    return [{ message, at, place: { id, repeats, toolCallId, toolName, input } }];
  });

/** What the model reads of a result, and of the loss of a session. */
function textOf(result: unknown, notice?: string): string {
  // The stand-in of a sign-in gives a text where no call can wait.
  if (typeof result === "string") return result;
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

type ToyResume = ResumeOptions<ToyTools>;

/** A run with what the face has made. */
export type ToyRun<CONNECTIONS extends Connections> = FacedRun<
  CONNECTIONS,
  ToyTools,
  ToyMessage,
  ResumedToy
>;

/** Creates the sessions of agents of the framework. */
export function createToySessions<CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): DurableSessions<CONNECTIONS, ToyRun<CONNECTIONS>> {
  return createDurableSessions(options, toyFace);
}

/** Whether the agent stops: a model would comment on a placeholder, or make the call again. */
export const pausesForCall = (output: unknown): boolean => waitingCallOf(output) !== undefined;
