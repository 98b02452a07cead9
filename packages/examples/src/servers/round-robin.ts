import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as send,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/**
 * Passes requests on to each of several ports in turn, and answers back as they come in. Requests
 * of one kind take turns of their own, so that each message of a chat goes to another process. A
 * port that refuses the connection is passed over.
 *
 * @param ports those that serve now; may change at any time
 * @param port its own, or 0 for any
 */
export async function startRoundRobin(
  ports: readonly number[],
  port: number,
): Promise<{ port: number; close: () => void }> {
  const turns = new Map<string, number>();
  const server = createServer((incoming, answer) => {
    forward(incoming, answer).catch(() => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end("502 Bad Gateway");
    });
  });

  async function forward(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = "GET", url = "/", headers } = incoming;
    const body = await buffer(incoming);
    const kind = `${method} ${url}`;
    for (let refusals = 0; ; refusals++) {
      const turn = (turns.get(kind) ?? 0) % ports.length;
      turns.set(kind, turn + 1);
      const options = { host: "127.0.0.1", port: ports[turn], method, path: url, headers };
      try {
        return await exchange(options, body, answer);
      } catch (error) {
        // Nothing was sent, so the next one may have it.
        const isRefused = (error as { code?: string }).code === "ECONNREFUSED";
        if (!isRefused || refusals === ports.length) throw error;
      }
    }
  }

  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function exchange(
  options: RequestOptions,
  body: Buffer,
  answer: ServerResponse,
): Promise<void> {
  const outgoing = send(options);
  const leave = () => void outgoing.destroy();
  answer.once("close", leave);
  try {
    outgoing.end(body);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    answer.writeHead(response.statusCode ?? 502, response.headers);
    answer.flushHeaders();
    // Either side may go away; then the other is told by the end of its connection.
    outgoing.on("error", () => {});
    await pipeline(response, answer);
  } finally {
    answer.off("close", leave);
  }
}
