import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";
import type { ClientName } from "../clients/index.ts";

/** A server without sessions in this process, behind a fetch that counts. */
export interface CountedServer {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  /** The methods since the last call. */
  takeLog(): string[];
}

const inputOf = (header = "Region") =>
  z.object({ text: z.string(), region: z.string().meta({ "x-mcp-header": header }) });
const echo = ({ text }: { text: string }) => ({ content: [{ type: "text" as const, text }] });
const description = "Answers with the text.";

/** `@modelcontextprotocol/server` 2, of both eras or of 2026-07-28 alone. */
function sdk2(
  ttlMs: number | undefined,
  legacy: "stateless" | "reject",
  header?: string,
): CountedServer {
  const hint = ttlMs === undefined ? undefined : { ttlMs };
  const cacheHints = hint && { "server/discover": hint, "tools/list": hint };
  const create = () => {
    const server = new McpServer(
      { name: "notes", version: "1" },
      { ...(cacheHints && { cacheHints }) },
    );
    server.registerTool("echo", { description, inputSchema: inputOf(header) }, echo);
    return server;
  };
  return counted(createMcpHandler(create, { legacy }).fetch);
}

/** `@modelcontextprotocol/sdk` 1 without a generator of session ids: a transport for each request. */
function sdk1(): CountedServer {
  return counted(async (request) => {
    const server = new McpServer1({ name: "notes", version: "1" });
    server.registerTool("echo", { description, inputSchema: inputOf().shape }, echo);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    return await transport.handleRequest(request);
  });
}

function counted(handle: (request: Request) => Promise<Response>): CountedServer {
  const log: string[] = [];
  return {
    url: "https://notes.example/mcp",
    async fetch(input, init) {
      const request = new Request(input, init);
      const text = await request.clone().text();
      const { method } = (text === "" ? {} : JSON.parse(text)) as { method?: string };
      log.push(method ?? request.method);
      return await handle(request);
    },
    takeLog: () => log.splice(0),
  };
}

/** Clients that ask for the revision first. */
const probing: readonly ClientName[] = ["@ai-sdk/mcp 2", "@modelcontextprotocol/client 2 (auto)"];

interface ServerKind {
  /** @param header of the tool @default "Region" */
  readonly start: (header?: string) => CountedServer;
  /** Whether the server allows a client to keep anything. */
  readonly allows: (client: ClientName) => boolean;
  readonly serves: (client: ClientName) => boolean;
  /** What a client sends in a first step: its list and its call, and what comes before. */
  readonly requestsOf: (client: ClientName) => string[];
}

const modernStep = ["server/discover", "tools/list", "tools/call"];
const oldStep = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
/** Of a server of both eras. */
const requestsOf = (client: ClientName) => (probing.includes(client) ? modernStep : oldStep);

/** In the session era the age limit of a tool list holds for all. */
export const serversInProcess: Readonly<Record<string, ServerKind>> = {
  "SDK v2 with ttlMs": {
    start: () => sdk2(60_000, "stateless"),
    allows: () => true,
    serves: () => true,
    requestsOf,
  },
  "SDK v2 with its default": {
    start: () => sdk2(undefined, "stateless"),
    allows: (client) => !probing.includes(client),
    serves: () => true,
    requestsOf,
  },
  "SDK v2 of 2026-07-28 alone": {
    start: (header) => sdk2(60_000, "reject", header),
    allows: () => true,
    serves: (client) => probing.includes(client),
    requestsOf,
  },
  "SDK v1 without ids": {
    start: sdk1,
    allows: () => true,
    serves: () => true,
    requestsOf: (client) => [...(probing.includes(client) ? ["server/discover"] : []), ...oldStep],
  },
};
