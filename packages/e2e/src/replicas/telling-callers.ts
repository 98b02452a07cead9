import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** Called with each progress notification. */
type OnProgress = (progress: { progress: number; message?: string | undefined }) => void;

/** A client that comes back for answers whose stream broke. */
export interface TellingClient {
  call(tool: string, args: object, onprogress?: OnProgress): Promise<unknown>;
}

/** Answers a question of the server, whose message names the call. */
export type OnQuestion = (call: string) => Promise<{ readonly said: string }>;

export type ConnectTelling = (
  url: string,
  fetch: typeof globalThis.fetch,
  onQuestion: OnQuestion,
) => Promise<readonly TellingClient[]>;

const info = { name: "telling", version: "1.0.0" };
const capabilities = { elicitation: { form: {} } };
const timeout = 60_000;
const reconnectionOptions = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
  // The default of 2 is soon used up by a run that breaks streams all the time.
  maxRetries: 20,
};

const connectSdk1 = async (
  url: string,
  fetch: typeof globalThis.fetch,
  onQuestion: OnQuestion,
  sessionId?: string,
) => {
  const client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
    action: "accept",
    content: await onQuestion(params.message),
  }));
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch,
    ...(sessionId !== undefined && { sessionId }),
    reconnectionOptions,
  });
  if (sessionId !== undefined) transport.setProtocolVersion("2025-11-25");
  await client.connect(transport);
  const call: TellingClient["call"] = (name, args, onprogress) =>
    client.callTool({ name, arguments: { ...args } }, undefined, {
      timeout,
      ...(onprogress && { onprogress }),
    });
  return { call, sessionId: transport.sessionId };
};

/** Each in a session of its own. */
export const tellingClients: Readonly<Record<string, ConnectTelling>> = {
  "@modelcontextprotocol/sdk 1": async (...given) => [await connectSdk1(...given)],
  "@modelcontextprotocol/client 2": async (url, fetch, onQuestion) => {
    const client = new Client2(info, { capabilities });
    client.setRequestHandler("elicitation/create", async ({ params }) => ({
      action: "accept" as const,
      content: await onQuestion(params.message),
    }));
    await client.connect(new Transport2(new URL(url), { fetch, reconnectionOptions }));
    const call: TellingClient["call"] = (name, args, onprogress) =>
      client.callTool(
        { name, arguments: { ...args } },
        { timeout, ...(onprogress && { onprogress }) },
      );
    return [{ call }];
  },
  createSessionFetch: async (url, fetch, onQuestion) => [
    await connectSdk1(
      url,
      createSessionFetch({ url, slot: createSessionSlot(), fetch }),
      onQuestion,
    ),
  ],
  // Both count their request ids from the same number.
  "two of @modelcontextprotocol/sdk 1 in one session": async (url, fetch, onQuestion) => {
    const first = await connectSdk1(url, fetch, onQuestion);
    return [first, await connectSdk1(url, fetch, onQuestion, first.sessionId)];
  },
};
