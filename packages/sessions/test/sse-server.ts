import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { sendText, startHttpServer, type TestHttpServer } from "../../core/test/http-server.ts";
import { answer, type Interceptor } from "./notebook-server.ts";

export interface SseServer extends TestHttpServer {
  readonly url: string;
}

/** A server that only knows the HTTP+SSE transport of 2024-11-05; a POST to its URL gets `status`. */
export async function startSseServer(
  status: number,
  setUp: (mcp: McpServer) => void = registerGreeting,
  guard: Interceptor = () => "next",
): Promise<SseServer> {
  const transports = new Map<string, SSEServerTransport>();
  const server = await startHttpServer(async (request, response) => {
    if ((await guard(request, response)) !== "next") return;
    const { method, path, message, raw } = request;
    const url = new URL(path, "http://127.0.0.1");
    if (url.pathname === "/messages") {
      const transport = transports.get(url.searchParams.get("sessionId") ?? "");
      return await transport?.handlePostMessage(raw, response, message);
    }
    if (method !== "GET") return sendText(response, status, "Cannot POST /mcp");
    const transport = new SSEServerTransport("/messages", response);
    transports.set(transport.sessionId, transport);
    const mcp = new McpServer({ name: "old", version: "1.0.0" });
    setUp(mcp);
    return await mcp.connect(transport);
  });
  return Object.assign(server, { url: `${server.origin}/mcp` });
}

function registerGreeting(mcp: McpServer): void {
  mcp.registerTool("greet", { description: "Greets." }, () => answer("hello"));
}
