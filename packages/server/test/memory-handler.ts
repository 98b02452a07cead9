import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createNotesServer } from "./notes-server.ts";
import type { ServerSession } from "../src/index.ts";

/** A server on the SDK alone, with its sessions in memory, as servers have them today. */
export function startMemoryHandler({ refusal }: { refusal?: "400" | undefined } = {}) {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request: Request): Promise<Response> => {
    const sessionId = request.headers.get("mcp-session-id");
    const known = sessionId === null ? undefined : transports.get(sessionId);
    if (known) return await known.handleRequest(request);
    if (sessionId !== null) {
      const [status, code, message] =
        refusal === "400"
          ? [400, -32000, "Bad Request: No valid session ID provided"]
          : [404, -32001, "Session not found"];
      return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
    }
    const transport: WebStandardStreamableHTTPServerTransport =
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
      });
    const session = { state: { notes: [] } } as unknown as ServerSession<{ notes: string[] }>;
    await createNotesServer(session).connect(transport);
    return await transport.handleRequest(request);
  };
}
