import { createMCPClient } from "@ai-sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { initializeResult, sessionId } from "./resumed-session.ts";

/** Calls a tool and reads the whole answer. */
export type Caller = () => Promise<unknown>;

type CreateCaller = (url: string, fetch: typeof globalThis.fetch) => Promise<Caller>;

const clientInfo = { name: "benchmark", version: "1" };
const tool = { name: "read", arguments: { path: "notes.txt" } };

/** Who calls: a bare fetch, or a whole client that parses and validates the answer. */
export const createCaller = {
  "fetch + text()": async (url, fetch) => {
    let id = 0;
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    return async () => {
      const message = { jsonrpc: "2.0", id: (id += 1), method: "tools/call", params: tool };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
      return await response.text();
    };
  },
  "@ai-sdk/mcp 2": async (url, fetch) => {
    const client = await createMCPClient({ transport: { type: "http", url, fetch } });
    return () => client.callTool(tool);
  },
  "SDK v1": async (url, fetch) => {
    const client = new ClientOfV1(clientInfo);
    await client.connect(new TransportOfV1(new URL(url), { fetch }));
    return () => client.callTool(tool);
  },
  "client v2": async (url, fetch) => {
    const client = new Client(clientInfo);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }));
    return () => client.callTool(tool);
  },
} satisfies Record<string, CreateCaller>;

export type CallerName = keyof typeof createCaller;
export const callerNames = Object.keys(createCaller) as CallerName[];

/** The session fetch of a step that resumes a session. */
export function createResumedFetch(url: string) {
  const slot = createSessionSlot({
    ...{ version: 1, kind: "session", url: new URL(url).href, sessionId, initializeResult },
    clientCapabilities: {},
  });
  return createSessionFetch({ url, slot });
}
