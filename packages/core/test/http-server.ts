import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as JSON; `undefined` when it is none. */
  readonly message: any;
}

export type HttpHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
) => void | Promise<void>;

export interface TestHttpServer {
  readonly origin: string;
  /** All requests that arrived whole, in order. */
  readonly requests: ReceivedRequest[];
  /** Resolves when the peer of some answer went away before the answer was finished. */
  readonly peerGone: Promise<void>;
}

/** A real HTTP server on a free port of 127.0.0.1, closed when the test ends. */
export async function startHttpServer(handler: HttpHandler): Promise<TestHttpServer> {
  const requests: ReceivedRequest[] = [];
  const peerGone = Promise.withResolvers<void>();
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await text(incoming).catch(() => undefined);
    if (body === undefined) return; // The client went away while it sent the request.
    const { method = "", url = "", headers } = incoming;
    const request = { method, path: url, headers, body, message: parseJson(body) };
    requests.push(request);
    await handler(request, response);
  };
  const server = createServer((incoming, response) => {
    response.on("close", () => {
      if (!response.writableFinished) peerGone.resolve();
    });
    void receive(incoming, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, requests, peerGone: peerGone.promise };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
