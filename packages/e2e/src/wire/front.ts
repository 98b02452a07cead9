import {
  Agent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text as textOf } from "node:stream/consumers";

/** One HTTP request at the front, to be passed on, or answered in another way than a server should. */
export interface Exchange {
  readonly httpMethod: string;
  /** The JSON-RPC method; without one it is an answer, or there is no body. */
  readonly rpcMethod: string | undefined;
  readonly message: {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: { readonly name?: string };
  };
  readonly body: string;
  readonly request: IncomingMessage;
  readonly sessionId: string | undefined;
  readonly response: ServerResponse;
  /** Passes it on; the answer waits, of which nothing but the head was read. */
  readonly open: (target?: string) => Promise<IncomingMessage>;
  /** Sends back what `open` gave, as it comes. */
  readonly give: (answer: IncomingMessage) => void;
  /** Passes it on, and its answer back as it comes. */
  readonly pass: (target?: string) => Promise<void>;
  /** Passes it on, and gives the whole answer instead of sending it back. */
  readonly ask: (target?: string) => Promise<WholeAnswer>;
  readonly answer: (answer: WholeAnswer) => void;
  /** Breaks the connection with a TCP reset. */
  readonly reset: () => void;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is done with a request; `undefined` passes it on. */
export type Rule = (exchange: Exchange) => Promise<void> | undefined;

/** Stands before a server, and behaves as it is told. */
export interface Front {
  readonly url: string;
  readonly origin: string;
  rule: Rule | undefined;
  /** Whether a `tools/call` with this text arrived. */
  readonly saw: (text: string) => boolean;
  /** Refuses connections, and breaks those that are open; then takes them again. */
  readonly setOpen: (isOpen: boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startFront(target: string): Promise<Front> {
  const agent = new Agent({ keepAlive: false });
  const seen: string[] = [];
  // A starved client must not meet the end of a kept connection, which is a fault of its own.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = createExchange(agent, target, request, await buffer(request), response);
    if (exchange.rpcMethod === "tools/call") seen.push(exchange.body);
    await (front.rule?.(exchange) ?? exchange.pass());
  }

  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const front: Front = {
    url: `http://127.0.0.1:${port}/mcp`,
    origin: `http://127.0.0.1:${port}`,
    rule: undefined,
    saw: (text) => seen.some((body) => body.includes(text)),
    async setOpen(isOpen) {
      if (isOpen === server.listening) return;
      await (isOpen ? listen(port) : stop());
    },
    async close() {
      agent.destroy();
      if (server.listening) await stop();
    },
  };
  return front;
}

function createExchange(
  agent: Agent,
  target: string,
  request: IncomingMessage,
  bytes: Buffer,
  response: ServerResponse,
): Exchange {
  const body = bytes.toString();
  const message = parseMessage(body);
  response.setMaxListeners(0); // one for each server that it is passed on to
  const open = (to = target) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { pathname, host } = new URL(to);
      const url = new URL((request.url ?? "/").replace(/^\/mcp/, pathname), to);
      const headers = { ...request.headers, host, connection: "close" };
      const upstream = httpRequest(url, { agent, method: request.method, headers }, resolve);
      upstream.on("error", reject);
      response.on("close", () => upstream.destroy());
      upstream.end(bytes);
    });
  const give = (answer: IncomingMessage) => {
    response.writeHead(answer.statusCode ?? 0, withoutHopByHop(answer.rawHeaders));
    response.flushHeaders(); // Node keeps them until the first byte of the body
    answer.on("error", () => response.destroy());
    answer.pipe(response);
  };
  return {
    ...{ message, body, request, response, open, give },
    httpMethod: request.method ?? "",
    rpcMethod: message.method,
    sessionId: request.headers["mcp-session-id"]?.toString(),
    pass: async (to) => give(await open(to)),
    async ask(to) {
      const answer = await open(to);
      return {
        status: answer.statusCode ?? 0,
        headers: ofWhole(answer),
        body: await textOf(answer),
      };
    },
    answer: ({ status, headers, body: whole }) =>
      void response.writeHead(status, headers).end(whole),
    reset: () => void request.socket.resetAndDestroy(),
  };
}

function parseMessage(body: string): Exchange["message"] {
  try {
    return (JSON.parse(body) ?? {}) as Exchange["message"];
  } catch {
    return {};
  }
}

/** The front's own connection decides about these. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding"]);

function withoutHopByHop(rawHeaders: string[]): string[] {
  return rawHeaders.filter(
    (_, index) => !hopByHop.has(rawHeaders[index - (index % 2)]?.toLowerCase() ?? ""),
  );
}

/** Those that say nothing of the connection, nor of the length, which may become another one. */
function ofWhole({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => !hopByHop.has(name) && name !== "content-length",
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}
