import type { ReceivedRequest } from "./http-server.ts";
import { type McpHandler, sendJson, sendResult, sendText, startMcpServer } from "./mcp-server.ts";

/** Answers as a server that only speaks 2026-07-28. */
export const answerModern: McpHandler = ({ message, method }: ReceivedRequest, response) => {
  if (method !== "POST") return sendText(response, 405, "");
  if (message.id === undefined) return sendText(response, 202, "");
  const { id, params } = message;
  const requested = params?.["_meta"]?.["io.modelcontextprotocol/protocolVersion"];
  if (requested !== "2026-07-28") {
    const data = { supported: ["2026-07-28"], requested };
    const error = { code: -32_022, message: "Unsupported protocol version", data };
    return sendJson(response, 400, { jsonrpc: "2.0", id, error });
  }
  const common = { resultType: "complete", ttlMs: 60_000, cacheScope: "private" };
  const results: Record<string, object> = {
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
  };
  const own = results[message.method] ?? { content: [{ type: "text", text: "modern" }] };
  return sendResult(response, id, { ...own, ...common });
};

const asOld: McpHandler = (_request, _response, next) => next();

/** A server at one URL that can change its era between two requests. It begins with sessions. */
export async function startChangingServer() {
  const server = await startMcpServer();
  return Object.assign(server, {
    turnModern: () => server.use(answerModern),
    turnOld: () => server.use(asOld),
    /** As a balancer over two replicas, which takes them in this order, again and again. */
    alternate(turns: readonly ("old" | "modern")[]) {
      let count = 0;
      server.use((...request) => {
        const turn = turns[count++ % turns.length];
        return turn === "modern" ? answerModern(...request) : asOld(...request);
      });
    },
  });
}
