import { Readable } from "node:stream";
import type { Act } from "./front.ts";

/** Answers that break the protocol. Each has carried the request out. */
const malformations = {
  /** A page, with 200, as of a captive portal. */
  html: () => respond("<!doctype html><title>Welcome</title>", 200, "text/html"),
  /** Half of the JSON. */
  "cut-json": (message: object) => {
    const text = JSON.stringify(message);
    return respond(text.slice(0, text.length / 2));
  },
  /** An answer to a request that nobody made. */
  "other-id": (message: object) => respond({ ...message, id: "of somebody else" }),
  /** An object that is no JSON-RPC. */
  "no-json-rpc": () => respond({ hello: "world" }),
  /** A success without a body. */
  empty: () => respond(""),
} satisfies Record<string, (message: object) => Response>;

/** An answer that breaks the protocol. */
export type Malformation = keyof typeof malformations;

/** How servers refuse a session that they have lost: 404 as the specification has it, and what else is about. */
export const lostSessionDialects = {
  /** 404 with a JSON-RPC error. */
  "not-found": () => refusal(404, -32_001, "Session not found"),
  /** 404 with a text. */
  "not-found-text": () => respond("Session not found", 404, "text/plain"),
  /** 400 of `@modelcontextprotocol/server-everything`. */
  "no-valid-session-id": () => refusal(400, -32_000, "Bad Request: No valid session ID provided"),
  /** 400 of the SDK with one transport for the process, after its restart. */
  "not-initialized": () => refusal(400, -32_000, "Bad Request: Server not initialized"),
  /** 400 of the SDK with one transport for the process, after a DELETE. */
  "header-required": () => refusal(400, -32_000, "Bad Request: Mcp-Session-Id header is required"),
} satisfies Record<string, () => Response>;

/** A way to refuse a session that is lost. */
export type LostSessionDialect = keyof typeof lostSessionDialects;

/** @param body a text as it is, anything else as JSON */
export function respond(body: unknown, status = 200, type = "application/json"): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "content-type": type } });
}

function refusal(status: number, code: number, message: string): Response {
  return respond({ jsonrpc: "2.0", error: { code, message }, id: null }, status);
}

/** Sends half of the answer; then the connection breaks, or the stream ends as if all were well. */
export const cut =
  (isQuiet: boolean): Act =>
  async ({ carryOut }) => {
    const answer = await carryOut();
    const bytes = await answer.bytes();
    return withBody(answer, async function* () {
      yield bytes.subarray(0, bytes.length / 2);
      // So long bytes need to arrive.
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (!isQuiet) throw new Error("The connection breaks.");
    });
  };

/** Sends the answer byte by byte, each on its own way. */
export const split: Act = async ({ carryOut }) => {
  const answer = await carryOut();
  if (answer.body === null) return answer;
  return withBody(answer, async function* () {
    for await (const chunk of answer.body!) {
      for (const byte of chunk) {
        yield Uint8Array.of(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  });
};

export const malform =
  (kind: Malformation): Act =>
  async ({ carryOut }) => {
    const answer = await carryOut();
    const malformed = malformations[kind](messageIn(await answer.text()));
    const id = answer.headers.get("mcp-session-id");
    if (id !== null) malformed.headers.set("mcp-session-id", id);
    return malformed;
  };

/** The last message of an answer, JSON or events. */
function messageIn(body: string): object {
  const line = body.split("\n").findLast((text) => /^(data: ?)?\{/.test(text)) ?? "{}";
  return JSON.parse(line.replace(/^data: ?/, "")) as object;
}

function withBody({ status, headers }: Response, write: () => AsyncIterable<Uint8Array>) {
  const kept = new Headers(headers);
  kept.delete("content-length");
  const body = Readable.toWeb(Readable.from(write())) as ReadableStream;
  return new Response(body, { status, headers: kept });
}
