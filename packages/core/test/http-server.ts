import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as JSON; `undefined` when it is none. */
  readonly message: any;
  /** For servers that answer through an SDK transport. */
  readonly raw: IncomingMessage;
}

export type HttpHandler = (request: ReceivedRequest, response: ServerResponse) => unknown;

export interface TestHttpServer {
  readonly origin: string;
  /** All requests that arrived whole, in order. */
  readonly requests: ReceivedRequest[];
  /** What arrived, as "POST tools/call". */
  readonly log: string[];
  /** Resolves when the peer of some answer went away before the answer was finished. */
  readonly peerGone: Promise<void>;
  /** How many connections are open. */
  openConnections(): Promise<number>;
  /** Ends all connections, and takes no more. */
  close(): Promise<void>;
}

type Register = (close: () => Promise<void>) => void;
let whenDone: Register = onTestFinished;

/** For a file whose tests run at once, where a hook cannot know its test: servers close after all of them. */
export function closeServersAfterAll(): void {
  const closings: (() => Promise<void>)[] = [];
  beforeAll(() => void (whenDone = (close) => void closings.push(close)));
  afterAll(async () => {
    whenDone = onTestFinished;
    await Promise.all(closings.map((close) => close()));
  });
}

/** A real HTTP server on a free port of 127.0.0.1, closed when the test ends. */
export async function startHttpServer(handler: HttpHandler): Promise<TestHttpServer> {
  const requests: ReceivedRequest[] = [];
  const peerGone = Promise.withResolvers<void>();
  const receive = async (raw: IncomingMessage, response: ServerResponse) => {
    const body = await text(raw).catch(() => undefined);
    if (body === undefined) return; // The client went away while it sent the request.
    const { method = "", url = "", headers } = raw;
    const told = { method, path: url, headers, body, message: parseJson(body) };
    // Not among what is printed or compared.
    const request = Object.defineProperty(told, "raw", { value: raw }) as ReceivedRequest;
    requests.push(request);
    await handler(request, response);
  };
  const server = createServer((raw, response) => {
    response.on("close", () => {
      if (!response.writableFinished) peerGone.resolve();
    });
    void receive(raw, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  };
  whenDone(close);
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    peerGone: peerGone.promise,
    get log() {
      return requests.map(({ method, message }) =>
        typeof message?.method === "string" ? `${method} ${message.method}` : method,
      );
    },
    close,
    openConnections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
  };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function sendText(response: ServerResponse, status: number, body = ""): void {
  response.writeHead(status, { "content-type": "text/plain" }).end(body);
}
