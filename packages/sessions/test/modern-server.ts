import { sendJson, startHttpServer, type TestHttpServer } from "../../core/test/http-server.ts";
import { answer, type Interceptor } from "./notebook-server.ts";

const version = "2026-07-28";

export interface ModernServerOptions {
  /** Whether it answers its own methods with 500. @default false */
  readonly isBroken?: boolean;
  /** Said of discovery and lists: `ttlMs` and `cacheScope`. @default nothing */
  readonly caching?: object;
  /** Of its tool `greet`. @default any object */
  readonly inputSchema?: object;
  /** Stands before the server. @default lets all through */
  readonly guard?: Interceptor;
}

/** A server of the revision without sessions and of no other: it refuses `initialize`. */
export async function startModernServer({
  isBroken = false,
  caching = {},
  inputSchema = { type: "object" },
  guard = () => "next",
}: ModernServerOptions = {}): Promise<TestHttpServer & { readonly url: string }> {
  const server = await startHttpServer(async (request, response) => {
    if ((await guard(request, response)) !== "next") return;
    const { method, headers, message } = request;
    if (method !== "POST") return void response.writeHead(405).end();
    const { id, params } = message;
    const meta: unknown = params?.["_meta"];
    const succeed = (result: object) =>
      sendJson(response, 200, {
        jsonrpc: "2.0",
        id,
        result: { resultType: "complete", ...result },
      });
    const fail = (status: number, code: number, text: string, data?: object) =>
      sendJson(response, status, { jsonrpc: "2.0", id, error: { code, message: text, data } });
    if (
      headers["mcp-protocol-version"] !== version ||
      (meta as Record<string, unknown>)["io.modelcontextprotocol/protocolVersion"] !== version
    ) {
      return fail(400, -32022, "Unsupported protocol version", { supported: [version] });
    }
    if (isBroken) return void response.writeHead(500).end();
    switch (message.method) {
      case "server/discover":
        return succeed({
          ...caching,
          supportedVersions: [version],
          capabilities: { tools: {} },
          instructions: "Be modern.",
        });
      case "tools/list":
        return succeed({ ...caching, tools: [{ name: "greet", inputSchema }] });
      case "tools/call":
        if (progressTokenOf(meta) !== undefined) {
          const progress = { progressToken: progressTokenOf(meta), progress: 1 };
          response.writeHead(200, { "content-type": "text/event-stream" });
          const said = { jsonrpc: "2.0", method: "notifications/progress", params: progress };
          const result = { resultType: "complete", ...answer(`hello from ${params.name}`) };
          const answered = { jsonrpc: "2.0", id, result };
          const events = [said, answered].map((each) => `data: ${JSON.stringify(each)}\n\n`);
          return void response.end(events.join(""));
        }
        return succeed(answer(`hello from ${params.name}`));
      default:
        return fail(404, -32601, "Method not found");
    }
  });
  return Object.assign(server, { url: `${server.origin}/mcp` });
}

function progressTokenOf(meta: unknown): unknown {
  return (meta as { progressToken?: unknown } | undefined)?.progressToken;
}
