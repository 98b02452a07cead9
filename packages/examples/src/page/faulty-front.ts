import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as send,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What happens to requests of the chat.
 *
 * - `502`: they are answered with it.
 * - `lost`: they arrive, and their answers do not.
 * - `hang`: they neither arrive nor end.
 * - `late`: they arrive after 3 s.
 */
export type Fault = "502" | "lost" | "hang" | "late";

/** A proxy between a page and the processes of its chat. */
export interface FaultyFront {
  readonly url: string;
  fault: Fault | undefined;
  /** Ends all that is open. */
  readonly breakOff: () => void;
  /** Leaves it open for ever, without another byte. */
  readonly freeze: () => void;
  readonly close: () => void;
}

/**
 * @param port of the process that gets requests now
 * @param fileOf what the page is made of, by path
 */
export async function startFaultyFront(
  port: () => number,
  fileOf: (path: string) => string,
): Promise<FaultyFront> {
  const open = new Map<ServerResponse, IncomingMessage | undefined>();
  const frozen = new WeakSet<ServerResponse>();
  const sockets = new Set<Socket>();

  async function pass(
    { method, url: path, headers }: IncomingMessage,
    body: Buffer,
    answer: ServerResponse,
  ) {
    const outgoing = send({ host: "127.0.0.1", port: port(), method, path, headers });
    outgoing.end(body);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    open.set(answer, response);
    // Its process may be killed.
    outgoing.on("error", () => undefined);
    response.on("error", () => frozen.has(answer) || answer.destroy());
    if (front.fault === "lost") return answer.destroy();
    answer.writeHead(response.statusCode ?? 502, response.headers).flushHeaders();
    response.on("data", (part) => answer.write(part));
    response.on("end", () => frozen.has(answer) || answer.end());
    return answer;
  }

  async function serve(incoming: IncomingMessage, answer: ServerResponse) {
    const path = incoming.url ?? "";
    if (!path.startsWith("/api/")) {
      const type = path.endsWith(".js") ? "text/javascript" : "text/html";
      return answer.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(fileOf(path));
    }
    const body = await buffer(incoming);
    const { fault } = front;
    if (fault === "502") return answer.writeHead(502).end("502 Bad Gateway");
    open.set(answer, undefined);
    answer.once("close", () => open.delete(answer));
    if (fault === "hang") return answer;
    if (fault === "late") await sleep(3_000);
    return await pass(incoming, body, answer);
  }

  const server = createServer((incoming, answer) => {
    serve(incoming, answer).catch(() => {
      if (!answer.headersSent) answer.writeHead(502).end("502 Bad Gateway");
    });
  }).listen(0, "127.0.0.1");
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await once(server, "listening");
  const front: FaultyFront = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: undefined,
    breakOff() {
      for (const socket of sockets) socket.destroy();
    },
    freeze() {
      for (const [answer, response] of open) {
        frozen.add(answer);
        response?.removeAllListeners("data").resume();
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return front;
}
