import { sentScrubber } from "@durable-mcp/sessions/internal";
import type { SessionLoss } from "@durable-mcp/core";
import {
  connectionFailure,
  isRecord,
  isRedirect,
  letGo,
  readRefusal,
  readText,
  scrubJson,
  timeLimited,
} from "@durable-mcp/core/internal";
import { createParser } from "eventsource-parser";

/** The session of a request, and the revision in its header. */
export interface RequestUse {
  readonly sessionId?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default the limit of the wire */
  readonly timeoutMs?: number | undefined;
}

/** A JSON-RPC response. */
interface RpcResponse {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What a server sent for one request, up to its response. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Without parameters; "none" without the header. */
  readonly contentType: string;
  readonly response?: RpcResponse | undefined;
  /** The text, if it is no stream of events. */
  readonly body: string;
  /** The message of a JSON-RPC error, or the text. */
  readonly words: string;
  /** Of the events up to the response. */
  readonly eventIds: readonly string[];
}

/** What a server says to a request with an id that it does not take, and what core makes of it. */
export interface Refusal {
  status: number;
  contentType: string;
  /** The message of a JSON-RPC error, or the body; the id left out. */
  text: string;
  loss: SessionLoss;
}

/** A message of ours; without an id it is a notification, and without a method an answer. */
export interface OwnMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: object;
  readonly result?: object;
  readonly error?: object;
}

/** Plain requests to one URL, so that the words are the server's own. */
export interface Wire {
  readonly url: URL;
  /** @throws {Error} in words, if no answer came */
  readonly post: (message: OwnMessage, use?: RequestUse) => Promise<Answer>;
  /** Opens a stream. The caller lets go of it. */
  readonly get: (use: RequestUse, signal: AbortSignal) => Promise<Response>;
  /** @returns the status */
  readonly delete: (use: RequestUse) => Promise<number>;
  /** The same wire, on which all requests end with this signal. */
  readonly until: (signal: AbortSignal) => Wire;
}

interface WireOptions {
  readonly url: URL;
  /** Credentials, and what else is sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes secrets out of what a server says. */
  readonly scrub: (text: string) => string;
  /** For each request and its answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Nothing of interest is longer, in bytes. */
const maxBody = 4 * 1_048_576;

export function createWire(options: WireOptions): Wire {
  const { url, timeoutMs: usualMs, signal } = options;
  const send = async (method: string, use: RequestUse, limit: AbortSignal, body?: string) => {
    const answer = await fetch(url, {
      method,
      headers: headersOf(options.headers, use, method),
      redirect: "manual",
      signal: limit,
      ...(body !== undefined && { body }),
    });
    if (!isRedirect(answer)) return answer;
    letGo(answer);
    throw new Error(redirected(answer, url));
  };
  const limited = async <T>(
    { timeoutMs = usualMs }: RequestUse,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    try {
      return await timeLimited(timeoutMs, signal, work);
    } catch (error) {
      signal?.throwIfAborted();
      throw inWords(error, timeoutMs);
    }
  };
  return {
    url,
    post: (message, use = {}) =>
      limited(use, async (limit) => {
        const body = JSON.stringify({ jsonrpc: "2.0", ...message });
        return await readAnswer(await send("POST", use, limit, body), message.id, options.scrub);
      }),
    get: (use, limit) => send("GET", use, limit),
    delete: (use) =>
      limited(use, async (limit) => {
        const answer = await send("DELETE", use, limit);
        letGo(answer);
        return answer.status;
      }),
    until: (next) => createWire({ ...options, signal: next }),
  };
}

function headersOf(
  own: Readonly<Record<string, string>>,
  { sessionId, protocolVersion, headers }: RequestUse,
  method: string,
): Record<string, string> {
  return {
    ...own,
    accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
    ...(method === "POST" && { "content-type": "application/json" }),
    ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
    ...(protocolVersion !== undefined && { "mcp-protocol-version": protocolVersion }),
    ...headers,
  };
}

async function readAnswer(
  answer: Response,
  id: OwnMessage["id"],
  scrub: (text: string) => string,
): Promise<Answer> {
  const { status, headers } = answer;
  const contentType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "none";
  const read = (body: string) => {
    const text = scrub(body);
    return { body: text, words: wordsOf(text), response: responseIn(body, scrub), eventIds: [] };
  };
  const common = { status, headers, contentType, body: "", words: "", eventIds: [] };
  if (!answer.ok) return { ...common, ...read(await readRefusal(answer)) };
  if (id === undefined) {
    letGo(answer);
    return common;
  }
  if (contentType === "text/event-stream")
    return { ...common, ...(await readEvents(answer, id, scrub)) };
  return { ...common, ...read(await readText(answer, maxBody)) };
}

/** Reads events until the response to a request has come, or the stream is over. */
export async function readEvents(
  { body }: Response,
  id: OwnMessage["id"],
  scrub: (text: string) => string,
): Promise<Pick<Answer, "response" | "eventIds">> {
  const eventIds: string[] = [];
  let response: RpcResponse | undefined;
  const parser = createParser({
    onEvent: (event) => {
      if (response !== undefined) return;
      if (event.id !== undefined) eventIds.push(event.id);
      const message = responseIn(event.data, scrub);
      if (message !== undefined && (message.id === id || message.id === null)) response = message;
    },
  });
  const isFound = () => response !== undefined;
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  for (let length = 0; length < maxBody;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || value === undefined) break;
    length += value.length;
    parser.feed(decoder.decode(value, { stream: true }));
    if (isFound()) break;
  }
  void reader?.cancel().catch(() => undefined);
  return { response, eventIds };
}

/** The JSON-RPC response in a text. */
function responseIn(text: string, scrub: (text: string) => string): RpcResponse | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (!isRecord(message) || message["jsonrpc"] !== "2.0" || "method" in message) return undefined;
    if (!isRecord(message["result"]) && !isRecord(message["error"])) return undefined;
    return scrubJson(message, scrub, ["id"]) as RpcResponse;
  } catch {
    return undefined;
  }
}

/** The message of a JSON-RPC error, or the whole text. */
function wordsOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return error;
    return isRecord(error) && typeof error["message"] === "string" ? error["message"] : body;
  } catch {
    return body;
  }
}

/** A URL without its query, and without what may be a key in its path. */
export function shownUrl(url: URL): string {
  return sentScrubber(url, [], "<secret>")(url.origin + url.pathname);
}

function redirected(answer: Response, url: URL): string {
  const location = answer.headers.get("location") ?? "";
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined;
  const where = target === undefined ? "" : ` to ${shownUrl(target)}`;
  return `It answers ${answer.status}, a redirect${where}, which is not followed: it could carry credentials elsewhere. Probe that URL if you trust it.`;
}

/** The error of `fetch`, in a sentence. */
function inWords(error: unknown, timeoutMs: number): Error {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new Error(`No answer within ${timeoutMs / 1_000} s.`, { cause: error });
  }
  const failure = connectionFailure(error);
  const text = failure?.words;
  if (text === undefined) return error instanceof Error ? error : new Error(String(error));
  return new Error(`${text[0]?.toUpperCase()}${text.slice(1)}`, { cause: error });
}
