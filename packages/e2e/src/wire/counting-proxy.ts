import {
  Agent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What one HTTP request looked like on the wire; never the session id itself. */
export interface SeenRequest {
  httpMethod: string;
  /** The JSON-RPC method; `response` and `batch` name the other bodies. */
  rpcMethod?: string;
  /** The tool of a `tools/call`. */
  tool?: string;
  withSessionId: boolean;
  withProtocolVersion: boolean;
  /** Set once the server has answered. */
  status?: number;
}

interface HeldAnswer {
  /** Resolves when the server has answered and the client has seen nothing of it. */
  reached: Promise<void>;
  release: () => void;
  /** Breaks the client's connection instead: the answer is lost on its way. */
  drop: () => void;
}

export interface CountingProxy extends AsyncDisposable {
  url: string;
  /** The requests since the last call, in order. */
  takeRequests: () => SeenRequest[];
  /** The same, which stay for `takeRequests`. */
  seenRequests: () => readonly SeenRequest[];
  /** Resolves when the next request that matches is on its way to the server. */
  nextRequest: (matches: (request: SeenRequest) => boolean) => Promise<void>;
  /** Holds the answer to the next request that matches. */
  holdAnswer: (matches: (request: SeenRequest) => boolean) => HeldAnswer;
  close: () => Promise<void>;
}

interface PendingHold {
  matches: (request: SeenRequest) => boolean;
  reach: () => void;
  /** Rejects when the answer is dropped. */
  released: Promise<void>;
}

interface AwaitedRequest {
  matches: (request: SeenRequest) => boolean;
  arrive: () => void;
}

/** Forwards every request to the server as it came, answers streamed, and records it. */
export async function startCountingProxy(targetUrl: string): Promise<CountingProxy> {
  const target = new URL(targetUrl);
  // A connection per request: a kept one would break when the server restarts.
  const agent = new Agent({ keepAlive: false });
  const seen: SeenRequest[] = [];
  const holds: PendingHold[] = [];
  const awaited: AwaitedRequest[] = [];

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const record = describeRequest(request, body);
    seen.push(record);
    const at = awaited.findIndex(({ matches }) => matches(record));
    if (at >= 0) awaited.splice(at, 1)[0]?.arrive();
    const answer = await send(request, body, response);
    record.status = answer.statusCode ?? 0;
    await holdIfAsked(record);
    response.writeHead(record.status, withoutHopByHop(answer.rawHeaders));
    response.flushHeaders(); // Node keeps them until the first byte of the body
    answer.on("error", () => response.destroy());
    answer.pipe(response);
  }

  function send(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const path = (request.url ?? "/").replace(/^\/mcp/, target.pathname);
      const headers = { ...request.headers, host: target.host, connection: "close" };
      const upstream = httpRequest(
        new URL(path, target),
        { agent, method: request.method, headers },
        resolve,
      );
      upstream.on("error", reject);
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    });
  }

  async function holdIfAsked(record: SeenRequest): Promise<void> {
    const at = holds.findIndex((hold) => hold.matches(record));
    const [hold] = at < 0 ? [] : holds.splice(at, 1);
    hold?.reach();
    await hold?.released;
  }

  const close = async () => {
    agent.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    takeRequests: () => seen.splice(0),
    seenRequests: () => seen,
    nextRequest: (matches) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited.push({ matches, arrive: resolve });
      return promise;
    },
    holdAnswer: (matches) => {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      holds.push({ matches, reach: reached.resolve, released: released.promise });
      const drop = () => released.reject(new Error("dropped"));
      return { reached: reached.promise, release: released.resolve, drop };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function describeRequest(request: IncomingMessage, body: Buffer): SeenRequest {
  const described: SeenRequest = {
    httpMethod: request.method ?? "",
    withSessionId: request.headers["mcp-session-id"] !== undefined,
    withProtocolVersion: request.headers["mcp-protocol-version"] !== undefined,
  };
  if (body.length === 0) return described;
  const message = JSON.parse(body.toString()) as { method?: string; params?: { name?: string } };
  described.rpcMethod = Array.isArray(message) ? "batch" : (message.method ?? "response");
  if (message.method === "tools/call" && message.params?.name) described.tool = message.params.name;
  return described;
}

/** The proxy's own connection decides about these. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding"]);

function withoutHopByHop(rawHeaders: string[]): string[] {
  return rawHeaders.filter(
    (_, index) => !hopByHop.has(rawHeaders[index - (index % 2)]?.toLowerCase() ?? ""),
  );
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
