import { createMCPClient } from "@ai-sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createToolCall } from "../tool-call.ts";

/** Calls a tool and reads the whole answer. */
export type Caller = () => Promise<unknown>;

type CreateCaller = (url: string, fetch: typeof globalThis.fetch) => Promise<Caller>;

const clientInfo = { name: "benchmark", version: "1" };
const tool = { name: "read", arguments: { path: "notes.txt" } };

/** Who calls: a bare fetch, or a whole client that parses and validates the answer. */
export const createCaller = {
  "fetch + text()": async (url, fetch) => async () => {
    const response = await fetch(url, createToolCall());
    return await response.text();
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
