import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface CountingProxy {
  readonly url: string;
  /** The requests so far, by JSON-RPC method; others by HTTP method. */
  readonly counts: Record<string, number>;
  readonly close: () => Promise<void>;
}

/** Stands before an MCP server and counts what it is asked. */
export async function startCountingProxy(targetUrl: string): Promise<CountingProxy> {
  const target = new URL(targetUrl);
  const counts: Record<string, number> = {};
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const method = methodOf(body) ?? request.method ?? "";
    counts[method] = (counts[method] ?? 0) + 1;
    const headers = { ...request.headers, host: target.host };
    const forwarded = httpRequest(target, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders(); // Node keeps them until the first byte of the body
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    forwarded.end(body);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    counts,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function methodOf(body: Buffer): string | undefined {
  if (body.length === 0) return undefined;
  return (JSON.parse(body.toString()) as { method?: string }).method;
}
