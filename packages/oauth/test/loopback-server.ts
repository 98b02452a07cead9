import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface LoopbackServer {
  readonly port: number;
  readonly origin: string;
  /** All requests that arrived, in order. */
  readonly requests: IncomingMessage[];
  /** How many connections were made. */
  readonly connections: () => number;
}

/** A real HTTP server on a free port of a loopback address, closed when the test ends. */
export async function startLoopbackServer(
  listener: RequestListener,
  host = "127.0.0.1",
): Promise<LoopbackServer> {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  }).on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return { port, origin, requests, connections: () => connections };
}
