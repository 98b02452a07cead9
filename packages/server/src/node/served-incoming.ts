import type { IncomingMessage, ServerResponse } from "node:http";
import { BodyNotRead } from "../http/read-body.ts";
import type { ServedRequest } from "../http/served-request.ts";

/** How much an author's function may read of a body before the handler has read it. */
const maxEarlyBytes = 16 * 1024 * 1024;

/** Node keeps the first of these if several came, where a proxy may have kept the last. */
const firstOnly = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "user-agent",
]);

export function servedFromNode(incoming: IncomingMessage, outgoing: ServerResponse): ServedRequest {
  let reading: Promise<Buffer | undefined> | undefined;
  const read = (maxBytes: number) => (reading ??= bodyOf(incoming, maxBytes));
  let request: Request | undefined;
  return {
    method: incoming.method ?? "",
    header: (name) => headerOf(incoming, name),
    readBody: async (maxBytes) => {
      const bytes = await read(maxBytes);
      return bytes && bytes.byteLength <= maxBytes ? decode(bytes) : undefined;
    },
    get request() {
      // Whoever reads a body twice gets it twice.
      if (!request || request.bodyUsed) {
        request = toRequest(incoming, outgoing, () => read(maxEarlyBytes));
      }
      return request;
    },
  };
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

/** As `TextDecoder` does, for a quarter of its price. */
function decode(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", hasMark ? 3 : 0);
}

/** `undefined` when it is longer than `maxBytes`; the rest is left to the connection. */
async function bodyOf(incoming: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const parsed = incoming.readableEnded ? parsedBody(incoming) : undefined;
  if (parsed) return parsed;
  if (Number(incoming.headers["content-length"]) > maxBytes) return undefined;
  if (incoming.readableEnded) {
    throw new BodyNotRead("Something in front has read the body and left no request.body.");
  }
  if (incoming.destroyed) throw clientLeft();
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const settle = (settled: () => void) => {
      incoming.off("data", onData).off("end", onEnd).off("close", onClose);
      settled();
    };
    const onData = (chunk: Buffer | string) => {
      // A parser in front may have set an encoding.
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      received += bytes.byteLength;
      if (received > maxBytes) settle(() => resolve(undefined));
      else chunks.push(bytes);
    };
    const onEnd = () =>
      settle(() => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(clientLeft()));
    incoming.on("data", onData).on("end", onEnd).on("close", onClose);
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
