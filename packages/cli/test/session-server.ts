import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { startLoopbackServer } from "../../oauth/test/loopback-server.ts";

interface SessionServerOptions {
  /** Of its one tool, in milliseconds. @default 0 */
  readonly toolMs?: number;
  /** One transport for the whole process. @default false */
  readonly isSingle?: boolean;
  /** Ends a session as soon as its listening stream closes. @default false */
  readonly endsAfterStream?: boolean;
  /** What it says to an unknown id. @default the SDK's own example */
  readonly refusal?: (id: string) => { readonly status: number; readonly body: string };
}

/** When it pings in a listening stream, in milliseconds. */
const pingMs = 10;

const notFound = () => ({
  status: 404,
  body: JSON.stringify({
    jsonrpc: "2.0",
    error: { code: -32001, message: "Session not found" },
    id: null,
  }),
});

/** A server on the official SDK, with a transport for each session. */
export async function startSessionServer({
  toolMs = 0,
  isSingle = false,
  endsAfterStream = false,
  refusal = notFound,
}: SessionServerOptions = {}) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const ids: string[] = [];
  let calls = 0;
  let answeredPings = 0;
  const servers = new Map<StreamableHTTPServerTransport, McpServer>();
  const ping = async (transport: StreamableHTTPServerTransport) => {
    await servers.get(transport)?.server.ping();
    answeredPings += 1;
  };
  const connect = async () => {
    const server = new McpServer({ name: "notes-server", title: "Notes", version: "1.2.3" });
    server.registerTool("wait", { description: "Waits." }, async () => {
      calls += 1;
      await new Promise((resolve) => {
        setTimeout(resolve, toolMs);
      });
      return { content: [{ type: "text", text: "waited" }] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        ids.push(id);
      },
      onsessionclosed: (id) => void transports.delete(id),
    });
    servers.set(transport, server);
    await server.connect(transport);
    return transport;
  };
  const only = isSingle ? await connect() : undefined;
  const route = async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers["mcp-session-id"];
    const known = only ?? (typeof id === "string" ? transports.get(id) : undefined);
    if (known === undefined && typeof id === "string") {
      const { status, body } = refusal(id);
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return;
    }
    if (request.method === "GET" && known !== undefined) {
      setTimeout(() => void ping(known).catch(() => undefined), pingMs);
    }
    if (endsAfterStream && request.method === "GET") {
      response.once("close", () => transports.delete(String(id)));
    }
    await (known ?? (await connect())).handleRequest(request, response);
  };
  const { origin } = await startLoopbackServer(
    (request, response) => void route(request, response),
  );
  return {
    url: new URL(`${origin}/mcp`),
    /** How often its tool ran. */
    calls: () => calls,
    /** Sessions that nobody has ended. */
    open: () => transports.size,
    made: () => ids.length,
    /** How many of its pings, one in each listening stream, were answered. */
    answeredPings: () => answeredPings,
    /** All ids that it has given. */
    ids,
  };
}
