import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

/**
 * Passes requests on to each of several ports in turn, and answers back as they come in. Requests
 * of one kind take turns of their own, so that each message of a chat goes to another process.
 *
 * @returns its own port
 */
export async function startRoundRobin(ports: readonly number[], port: number): Promise<number> {
  const turns = new Map<string, number>();
  const server = createServer((incoming, answer) => {
    const { method = "GET", url = "/", headers } = incoming;
    const kind = `${method} ${url}`;
    const turn = turns.get(kind) ?? 0;
    turns.set(kind, (turn + 1) % ports.length);
    const outgoing = send({ host: "127.0.0.1", port: ports[turn], method, path: url, headers });
    outgoing.on("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      // Either side may go away; then the other is told by the end of its connection.
      pipeline(response, answer).catch(() => outgoing.destroy());
    });
    outgoing.on("error", () => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end();
    });
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
