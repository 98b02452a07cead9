import { connect } from "node:net";
import { type Serve, serveOf } from "../src/base/reply.ts";
import { toNodeHandler } from "../src/node.ts";
import { listen } from "./listen.ts";

/** A `node:http` listener whose answers `serve` gives, without a handler in between. */
export function listenerWith(serve: Serve) {
  const handler = (request: Request) => {
    throw new Error(`The short way was not taken: ${request.url}, ${serve.name}`);
  };
  serveOf.set(handler, serve);
  return toNodeHandler(handler);
}

export async function listenWith(serve: Serve) {
  return await listen(listenerWith(serve));
}

/** A connection of its own, for what no HTTP client sends. */
export async function openSocket(url: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").setNoDelay();
  const packets: string[] = [];
  socket.on("data", (data) => packets.push(String(data))).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await new Promise((resolve) => socket.on("connect", resolve));
  return { socket, packets, closed, text: () => packets.join("") };
}

export function post(headers: string, body: string): string {
  return `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
}
