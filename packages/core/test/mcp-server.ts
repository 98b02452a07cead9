import type { ServerResponse } from "node:http";
import { initializeResult } from "./session-snapshot.ts";
import {
  type ReceivedRequest,
  sendJson,
  sendText,
  startHttpServer,
  type TestHttpServer,
} from "./http-server.ts";

export { initializeResult, sendJson, sendText };

/** Answers a request in the server's place, or leaves it to the server with `next`. */
export type McpHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
  next: () => void,
) => void | Promise<void>;

export interface TestMcpServer extends TestHttpServer {
  readonly url: string;
  /**
   * The DELETEs of sessions that the server has forgotten. They come at any time after a recovery, so they
   * are not among `requests`.
   */
  readonly endings: ReceivedRequest[];
  /** The ids given out so far. */
  readonly sessionIds: string[];
  /** Forgets all sessions, as a restart does. */
  forgetSessions(): void;
  /** Changes how requests are answered from now on. */
  use(handler: McpHandler): void;
}

export const toolDefinition = (name: string) => ({ name, inputSchema: { type: "object" } });

/** A small MCP server of the era with sessions, strict about ids, as the specification wants it. */
export async function startMcpServer(
  handler: McpHandler = (_request, _response, next) => next(),
): Promise<TestMcpServer> {
  const sessionIds: string[] = [];
  const known = new Set<string>();
  let current = handler;

  const endings: ReceivedRequest[] = [];
  const isForgotten = (id: string) => sessionIds.slice(0, -1).includes(id) && !known.has(id);
  const server = await startHttpServer((request, response) => {
    const id = String(request.headers["mcp-session-id"]);
    if (request.method === "DELETE" && isForgotten(id)) {
      endings.push(...server.requests.splice(server.requests.indexOf(request), 1));
      return sendText(response, 404, "Session not found");
    }
    return current(request, response, () => answer(request, response));
  });

  const answer = ({ method, headers, message }: ReceivedRequest, response: ServerResponse) => {
    const id = headers["mcp-session-id"];
    if (message?.method === "initialize") {
      if (id !== undefined) return sendText(response, 400, "Server already initialized");
      const sessionId = `secret-session-${sessionIds.length + 1}`;
      sessionIds.push(sessionId);
      known.add(sessionId);
      return sendResult(response, message.id, initializeResult, { "mcp-session-id": sessionId });
    }
    if (id === undefined) return sendText(response, 400, "Mcp-Session-Id header is required");
    if (!known.has(String(id))) return sendText(response, 404, "Session not found");
    if (method === "GET") return sendText(response, 405, "");
    if (method === "DELETE") return sendText(response, 200, "");
    if (message?.id === undefined || message.method === undefined) {
      return void response.writeHead(202).end();
    }
    if (message.method === "tools/list") {
      return sendResult(response, message.id, { tools: [toolDefinition("echo")] });
    }
    const text = JSON.stringify(message.params?.arguments ?? null);
    sendResult(response, message.id, { content: [{ type: "text", text }] });
  };

  return {
    ...server,
    url: `${server.origin}/mcp`,
    sessionIds,
    endings,
    get log() {
      return server.log;
    },
    forgetSessions: () => known.clear(),
    use(next) {
      current = next;
    },
  };
}

export function sendResult(
  response: ServerResponse,
  id: unknown,
  result: unknown,
  headers: Record<string, string> = {},
): void {
  sendJson(response, 200, { jsonrpc: "2.0", id, result }, headers);
}

/** Opens an SSE answer; what is written to it later are whole or partial events. */
export function startEvents(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
}

/** One SSE event with this message. */
export function eventText(message: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}
