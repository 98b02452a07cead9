import type { IncomingMessage, ServerResponse } from "node:http";
import { BodyNotRead } from "@durable-mcp/core/internal";
import type { ServedRequest } from "../base/served-request.ts";

/** How much an author's function may read of a body before the handler has read it. */
const maxEarlyBytes = 16 * 1024 * 1024;

const decoder = new TextDecoder();

/** Node keeps the first of these if several came, where a proxy may have kept the last. */
const firstOnly = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "user-agent",
]);

/** A class, because V8 makes a new hidden class for each object literal with a getter. */
export class ServedIncoming implements ServedRequest {
  readonly method: string;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #reading: Promise<Buffer | undefined> | undefined;
  #request: Request | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.method = incoming.method ?? "";
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  header(name: string): string | null {
    return headerOf(this.#incoming, name);
  }

  async readBody(maxBytes: number): Promise<string | undefined> {
    const bytes = await this.#read(maxBytes);
    return bytes && bytes.byteLength <= maxBytes ? decoder.decode(bytes) : undefined;
  }

  get request(): Request {
    // Whoever reads a body twice gets it twice.
    if (!this.#request || this.#request.bodyUsed) {
      const read = () => this.#read(maxEarlyBytes);
      this.#request = toRequest(this.#incoming, this.#outgoing, read);
    }
    return this.#request;
  }

  #read(maxBytes: number): Promise<Buffer | undefined> {
    return (this.#reading ??= bodyOf(this.#incoming, maxBytes));
  }
}

function headerOf(incoming: IncomingMessage, name: string): string | null {
  if (firstOnly.has(name)) {
    const { rawHeaders } = incoming;
    let joined: string | null = null;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const each = rawHeaders[index]!;
      if (each.length !== name.length || each.toLowerCase() !== name) continue;
      joined = joined === null ? rawHeaders[index + 1]! : `${joined}, ${rawHeaders[index + 1]}`;
    }
    if (joined !== null || name !== "host") return joined;
    // HTTP/2 has it there.
    name = ":authority";
  }
  const value = incoming.headers[name];
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.join(", ") : null;
}

/** `undefined` when it is longer than `maxBytes`; the rest is left to the connection. */
function bodyOf(incoming: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const parsed = incoming.readableEnded ? parsedBody(incoming) : undefined;
  if (parsed) return Promise.resolve(parsed);
  if (Number(incoming.headers["content-length"]) > maxBytes) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    if (incoming.readableEnded) {
      reject(new BodyNotRead("Something in front has read the body and left no request.body."));
    }
    if (incoming.destroyed) reject(clientLeft());
    const chunks: Buffer[] = [];
    let received = 0;
    let isSettled = false;
    const settle = (bytes: Buffer | undefined) => {
      isSettled = true;
      resolve(bytes);
    };
    // The listeners stay, because it costs more to remove them.
    incoming.on("data", (chunk: Buffer | string) => {
      if (isSettled) return;
      // A parser in front may have set an encoding.
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      received += bytes.byteLength;
      chunks.push(bytes);
      if (received > maxBytes) settle(undefined);
    });
    incoming.on("end", () => settle(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    incoming.on("close", () => {
      if (!isSettled) reject(clientLeft());
    });
  });
}

function clientLeft(): BodyNotRead {
  return new BodyNotRead("The client left before its body was complete.");
}

/** The body as a parser in front (`express.json()`) has left it; empty if it is too deep to print. */
export function parsedBody(incoming: IncomingMessage): Buffer | undefined {
  const { body } = incoming as { body?: unknown };
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (typeof body === "string") return Buffer.from(body);
  try {
    return Buffer.from(JSON.stringify(body));
  } catch {
    return Buffer.alloc(0);
  }
}

function toRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  read: () => Promise<Buffer | undefined>,
): Request {
  const { method = "GET", rawHeaders, url = "/" } = incoming;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    // HTTP/2 has its pseudo headers here.
    if (!name.startsWith(":")) headers.append(name, rawHeaders[index + 1]!);
  }
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  const base = `${scheme}://${headerOf(incoming, "host")}`;
  return new Request(base + pathOf(url), {
    method,
    headers,
    signal: signalOf(outgoing),
    ...(mayHaveBody(incoming) && { body: bodyStream(read), duplex: "half" }),
  });
}

function mayHaveBody({ method, headers, httpVersionMajor }: IncomingMessage): boolean {
  if (method === "GET" || method === "HEAD" || headers["content-length"] === "0") return false;
  const isAnnounced = "content-length" in headers || "transfer-encoding" in headers;
  return isAnnounced || httpVersionMajor > 1;
}

/** The target of a request may name a host of its own, which is not the one that was checked. */
function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  const url = URL.parse(target);
  return url ? url.pathname + url.search : "/";
}

/** Aborts when the client leaves before it has the whole answer. */
function signalOf(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const onClose = () => {
    if (!outgoing.writableFinished) controller.abort();
  };
  if (outgoing.closed) onClose();
  else outgoing.once("close", onClose);
  return controller.signal;
}

function bodyStream(read: () => Promise<Buffer | undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await read();
        if (!bytes) throw new BodyNotRead("The body is too long.");
        if (bytes.byteLength > 0) controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    },
    // Nothing is read before somebody asks.
    { highWaterMark: 0 },
  );
}
