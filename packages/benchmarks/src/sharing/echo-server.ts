import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

export interface EchoServer {
  readonly url: string;
  /** How often the tool has run. */
  readonly runs: () => number;
  /** Loses all sessions, as a restart does: the next request with an id of one is answered 404. */
  readonly forget: () => void;
  /** The connection breaks when the tool has run the next time, before its answer. */
  readonly breakNextAnswer: () => void;
  readonly close: () => void;
}

const notFound = {
  jsonrpc: "2.0",
  error: { code: -32001, message: "Session not found" },
  id: null,
};

/**
 * A server with sessions on the transport of the official SDK, as its examples have it.
 *
 * @param enableJsonResponse answers with one JSON body, in place of a stream
 */
export async function startEchoServer(enableJsonResponse = false): Promise<EchoServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const allAreHere = Promise.withResolvers<void>();
  let runs = 0;
  let waiting = 0;
  let breaks = false;
  let latest: ServerResponse | undefined;

  async function startSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      ...{ sessionIdGenerator: randomUUID, enableJsonResponse },
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    const server = new McpServer({ name: "echo", version: "1.0.0" });
    const inputSchema = { text: z.string(), together: z.number() };
    server.registerTool("echo", { inputSchema }, async ({ text, together }) => {
      runs += 1;
      // Answers none before so many calls are under way.
      if (together > 1 && (waiting += 1) === together) allAreHere.resolve();
      if (together > 1) await allAreHere.promise;
      if (breaks) {
        breaks = false;
        // The headers of a stream are out by then.
        await sleep(100);
        latest?.destroy();
      }
      return { content: [{ type: "text", text }] };
    });
    await server.connect(transport);
    return transport;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    const body: unknown = bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    const id = request.headers["mcp-session-id"]?.toString();
    const known = id === undefined ? await startSession() : transports.get(id);
    if (known) {
      if (request.method === "POST") latest = response;
      return await known.handleRequest(request, response, body);
    }
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(notFound));
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    runs: () => runs,
    forget: () => transports.clear(),
    breakNextAnswer: () => {
      breaks = true;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
