import {
  createServer,
  type IncomingMessage,
  request as send,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describeRequest, type McpRequest, type Message, parseMessage } from "../message.ts";

/** A request as it reached the server, with the session ids and tokens in its headers. */
export interface SeenRequest extends McpRequest {
  /** Which of the server's sessions it named: 1 for the first that was made. `undefined` for none, or an unknown one. */
  readonly session: number | undefined;
  /** The JSON-RPC message; `{}` without one. */
  readonly message: Message;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Headers;
}

/** One request, for a fault to answer or to hand on to the server. */
export interface Exchange {
  readonly seen: SeenRequest;
  readonly body: string;
  /** Has the server carry the request out, or another one at `url`. */
  readonly carryOut: (url?: string) => Promise<Response>;
}

/** Answers a request. A rejection breaks the connection, and so does an error in the answer's body. */
export type Act = (exchange: Exchange) => Promise<Response>;

/** What carries requests out. */
export type Server = ((request: Request, message: Message) => Promise<Response>) | URL;

/** Listens on port 0 of 127.0.0.1, and keeps what came. */
export async function startFront(server: Server, answer: Act) {
  const requests: SeenRequest[] = [];
  /** All ids that the server has given, in order. */
  const ids: string[] = [];
  const answering = new Set<ServerResponse>();
  const http = createServer({ keepAliveTimeout: 120_000 }, (incoming, outgoing) => {
    receive(incoming, outgoing).catch(() => incoming.socket.resetAndDestroy());
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = http.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  async function receive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const bytes = await buffer(incoming);
    const gone = new AbortController();
    outgoing.on("close", () => {
      gone.abort();
      answering.delete(outgoing);
    });
    const { method: httpMethod = "", url: path = "/" } = incoming;
    const headers = new Headers(incoming.headers as Record<string, string>);
    const body = bytes.toString();
    const message = parseMessage(body);
    const session = ids.indexOf(headers.get("mcp-session-id") ?? "") + 1 || undefined;
    const own = describeRequest(httpMethod, message);
    const seen: SeenRequest = { ...own, path, headers, message, session };
    requests.push(seen);
    const carryOut = async (url?: string) => {
      const target = url ?? server;
      const init = { method: httpMethod, headers, ...(body !== "" && { body }) };
      const carried =
        typeof target === "function"
          ? await target(new Request(new URL(path, origin), init), message)
          : await handOn(incoming, bytes, new URL(target), gone.signal);
      const id = carried.headers.get("mcp-session-id");
      if (id !== null && !ids.includes(id)) ids.push(id);
      return carried;
    };
    const answered = await answer({ seen, body, carryOut });
    seen.status = answered.status;
    answering.add(outgoing);
    await write(answered, outgoing);
  }

  return {
    origin,
    url: `${origin}/mcp`,
    /** All requests so far, in order. Set `length` to 0 to count anew. */
    requests,
    ids,
    /** Breaks the connections of those that get an answer now. */
    breakAnswers(): void {
      for (const outgoing of answering) outgoing.destroy();
    },
    /** Refuses connections and breaks those that are open, or takes them again at the same address. */
    setOpen: async (isOpen: boolean) => {
      if (isOpen === http.listening) return;
      if (isOpen) return await listen(port);
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

/** Writes an answer as it comes, and stops reading it when nobody takes it any more. */
async function write({ status, headers, body }: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.statusCode = status;
  outgoing.setHeaders(headers);
  // Node keeps them until the first byte of the body.
  outgoing.flushHeaders();
  const reader = body?.getReader();
  outgoing.on("close", () => void reader?.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    outgoing.write(value);
  }
  outgoing.end();
}

/** Each side's own connection decides about these. */
const hopByHop = ["connection", "keep-alive", "transfer-encoding"];

/**
 * Hands a request on as it came to the server at `target`, whose path takes the place of `/mcp`. A client that names
 * another host in its request line means that server all the same.
 */
async function handOn(
  incoming: IncomingMessage,
  body: Buffer,
  target: URL,
  signal: AbortSignal,
): Promise<Response> {
  const asked = incoming.url ?? "/";
  const { pathname, search } = new URL(
    asked.startsWith("/") ? `${target.origin}${asked}` : asked,
    target,
  );
  const path = pathname.replace(/^\/mcp/, () => target.pathname) + search;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // A kept connection may end while it is taken: a fault that nobody asked for.
    const headers = { ...incoming.headers, host: target.host, connection: "close" };
    const options = { agent: false, method: incoming.method, headers, signal, path };
    const sent = send(target, options, resolve);
    sent.on("error", reject).end(body);
  });
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    if (!hopByHop.includes(name)) for (const value of values) headers.append(name, value);
  }
  const status = answer.statusCode ?? 0;
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream), {
    status,
    headers,
  });
}
