// Real servers of the two official SDKs, one of each kind that a client may meet.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as McpServerOfV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";

const info = { name: "counting", version: "1.0.0" };
const tool = { description: "Counts its calls in this session." };
/** As long as the longest step between two steps, in milliseconds. */
const ttlMs = 3_600_000;

export interface CountingServer {
  readonly url: string;
  /** The requests since the last call of this function: the JSON-RPC methods, or the HTTP method where there is none. */
  readonly takeRequests: () => string[];
  readonly close: () => void;
}

type Handle = (request: IncomingMessage, response: ServerResponse, body: unknown) => unknown;

/** A server of each kind, with a tool `count`. */
export const serverKinds = {
  "session era, with sessions": () => {
    const transports = new Map<string, StreamableHTTPServerTransport>();
    return async (request, response, body) => {
      const id = request.headers["mcp-session-id"]?.toString();
      if (id !== undefined) {
        const known = transports.get(id);
        return known
          ? await known.handleRequest(request, response, body)
          : response.writeHead(404).end();
      }
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (started) => void transports.set(started, transport),
        onsessionclosed: (ended) => void transports.delete(ended),
      });
      return await serveCounter(transport, request, response, body);
    };
  },
  "session era, without ids": () => async (request, response, body) => {
    // As the SDK's examples do without sessions: a server for each request, and no stream to listen to.
    if (request.method !== "POST") return response.writeHead(405).end();
    return await serveCounter(new StreamableHTTPServerTransport({}), request, response, body);
  },
  "2026-07-28, ttlMs of an hour": () => createModernHandle(ttlMs),
  "2026-07-28, ttlMs 0": () => createModernHandle(0),
} satisfies Record<string, () => Handle>;

export type ServerKind = keyof typeof serverKinds;

export async function startServer(kind: ServerKind): Promise<CountingServer> {
  const handle: Handle = serverKinds[kind]();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void serve(request, response);
  });
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    const body =
      bytes.length > 0 ? (JSON.parse(bytes.toString()) as { method: string }) : undefined;
    requests.push(body?.method ?? request.method!);
    await handle(request, response, body);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    takeRequests: () => requests.splice(0),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function serveCounter(
  transport: StreamableHTTPServerTransport,
  ...[request, response, body]: Parameters<Handle>
): Promise<void> {
  const server = new McpServerOfV1(info);
  let calls = 0;
  server.registerTool("count", tool, () => {
    calls += 1;
    return { content: [{ type: "text", text: String(calls) }] };
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, body);
}

function createModernHandle(ttl: number): Handle {
  const hint = { ttlMs: ttl, cacheScope: "public" as const };
  const { fetch } = createMcpHandler(
    () => {
      const server = new McpServer(info, {
        cacheHints: { "server/discover": hint, "tools/list": hint },
      });
      server.registerTool("count", tool, () => ({ content: [{ type: "text", text: "1" }] }));
      return server;
    },
    { legacy: "reject" },
  );
  const handler = toNodeHandler({ fetch });
  return (request, response, body) => handler(request as never, response, body);
}
