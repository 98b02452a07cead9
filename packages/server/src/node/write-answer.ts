import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { startLimit } from "@durable-mcp/core/internal";
import { isResponse, maxUnreadBytes, type Reply, type ReplyStream } from "../base/reply.ts";

/** How much of a body that nobody reads is taken off a connection, so that it can be used again. */
const maxDiscardedBytes = 16 * 1024 * 1024;
const maxDiscardMs = 5_000;

export function writeAnswer(
  answer: Reply | Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  // A client that is still sending would not read the answer if its connection broke.
  if (!incoming.complete) outgoing.once("finish", () => discardRest(incoming));
  if (isResponse(answer)) void writeResponse(answer, outgoing);
  else writeReply(answer, outgoing);
}

/** The client has left, or something in front (a time-out) has answered in the meantime. */
function isTaken(outgoing: ServerResponse): boolean {
  return outgoing.destroyed || outgoing.headersSent;
}

function writeReply({ status, headers, body = "" }: Reply, outgoing: ServerResponse): void {
  if (typeof body === "function") writeStream(body, status, headers, outgoing);
  else writeText(body, status, headers, outgoing);
}

function writeText(
  text: string,
  status: number,
  headers: Reply["headers"],
  outgoing: ServerResponse,
): void {
  if (isTaken(outgoing)) return;
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody && { "Content-Length": Buffer.byteLength(text) };
  outgoing.writeHead(status, { ...headers, ...length });
  outgoing.end(hasBody ? text : undefined);
}

function writeStream(
  stream: ReplyStream,
  status: number,
  headers: Reply["headers"],
  outgoing: ServerResponse,
): void {
  let isOpen = !isTaken(outgoing);
  const wasTaken = !isOpen;
  const leave = stream({
    write: (text) => {
      if (!isOpen) return;
      if (!outgoing.headersSent) outgoing.writeHead(status, headers);
      outgoing.write(text);
      if (outgoing.writableLength > maxUnreadBytes) outgoing.destroy();
    },
    end: (text = "") => {
      if (!isOpen) return;
      isOpen = false;
      if (outgoing.headersSent) outgoing.end(text);
      else writeText(text, status, headers, outgoing);
    },
  });
  if (wasTaken || outgoing.destroyed) {
    isOpen = false;
    leave();
  } else if (isOpen) {
    outgoing.once("close", () => {
      if (!isOpen) return;
      isOpen = false;
      leave();
    });
  }
}

async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  try {
    const { status, body } = response;
    const headers = headersOf(response);
    if (isTaken(outgoing)) return await body?.cancel();
    const hasBody = outgoing.req.method !== "HEAD" && status !== 204 && status !== 304;
    if (body && hasBody) return await writeBody(body, status, headers, outgoing);
    if (hasBody) headers["content-length"] = 0;
    outgoing.writeHead(status, headers).end();
    await body?.cancel();
  } catch (error) {
    fail(error, outgoing);
  }
}

function headersOf(response: Response): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  return cookies.length > 0 ? { ...headers, "set-cookie": cookies } : headers;
}

async function writeBody(
  body: ReadableStream<Uint8Array>,
  status: number,
  headers: OutgoingHttpHeaders,
  outgoing: ServerResponse,
): Promise<void> {
  const reader = body.getReader();
  outgoing.once("close", () => void reader.cancel().catch(() => {}));
  // Headers leave with the first bytes, or alone if these take longer.
  const headersAlone = setImmediate(() => {
    if (!isTaken(outgoing)) outgoing.writeHead(status, headers).flushHeaders();
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (outgoing.destroyed) return;
      if (!outgoing.headersSent) outgoing.writeHead(status, headers);
      clearImmediate(headersAlone);
      if (done) break;
      if (!outgoing.write(value)) await drained(outgoing);
    }
    outgoing.end();
  } finally {
    clearImmediate(headersAlone);
  }
}

/** Resolves when there is room again, or nobody there any more. */
async function drained(outgoing: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle).off("close", settle);
      resolve();
    };
    outgoing.on("drain", settle).on("close", settle);
  });
}

/** Answers 500 without a reason, or breaks off an answer that has begun; the reason is printed. */
export function fail(error: unknown, outgoing: ServerResponse): void {
  // The client has left, and there is nobody to tell.
  if (outgoing.destroyed) return;
  console.error("Durable MCP could not answer a request.", error);
  if (outgoing.headersSent) outgoing.destroy();
  else writeText(internalError, 500, { "Content-Type": "application/json" }, outgoing);
}

const internalError = JSON.stringify({
  jsonrpc: "2.0",
  error: { code: -32603, message: "Internal server error" },
  id: null,
});

function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return;
  let discarded = 0;
  const giveUp = () => incoming.socket.destroy();
  const stop = startLimit(maxDiscardMs, giveUp, true);
  incoming
    .on("data", (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > maxDiscardedBytes) giveUp();
    })
    .on("close", stop)
    .on("end", stop)
    .resume();
}
