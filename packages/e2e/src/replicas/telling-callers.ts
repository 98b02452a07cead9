import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** Called with each progress notification. */
type OnProgress = (progress: { progress: number; message?: string | undefined }) => void;

/** A client that comes back for answers whose stream broke. */
export interface TellingClient {
  call(tool: string, args: object, onprogress?: OnProgress): Promise<unknown>;
}

export type ConnectTelling = (
  url: string,
  fetch: typeof globalThis.fetch,
) => Promise<readonly TellingClient[]>;

const info = { name: "telling", version: "1.0.0" };
const timeout = 60_000;
const reconnectionOptions = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
  // The default of 2 is soon used up by a run that breaks streams all the time.
  maxRetries: 20,
};

const connectSdk1 = async (url: string, fetch: typeof globalThis.fetch, sessionId?: string) => {
  const client = new Client(info);
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
  "@modelcontextprotocol/sdk 1": async (url, fetch) => [await connectSdk1(url, fetch)],
  "@modelcontextprotocol/client 2": async (url, fetch) => {
    const client = new Client2(info);
    await client.connect(new Transport2(new URL(url), { fetch, reconnectionOptions }));
    const call: TellingClient["call"] = (name, args, onprogress) =>
      client.callTool(
        { name, arguments: { ...args } },
        { timeout, ...(onprogress && { onprogress }) },
      );
    return [{ call }];
  },
  createSessionFetch: async (url, fetch) => [
    await connectSdk1(url, createSessionFetch({ url, slot: createSessionSlot(), fetch })),
  ],
  // Both count their request ids from the same number.
  "two of @modelcontextprotocol/sdk 1 in one session": async (url, fetch) => {
    const first = await connectSdk1(url, fetch);
    return [first, await connectSdk1(url, fetch, first.sessionId)];
  },
};
