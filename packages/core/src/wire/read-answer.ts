import { abortable, startLimit, within } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { serverLimits } from "../base/server-limits.ts";
import { type ByteParts, createPartCollector, partsText, utf8 } from "./byte-parts.ts";
import { createEventSplitter, eventText } from "./event-splitter.ts";
import {
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcResponse,
  parseMessage,
} from "./json-rpc.ts";

/** Whether the answer's content type is `type`. Parameters do not matter. */
export function hasContentType(response: Response, type: string): boolean {
  const value = response.headers.get("content-type") ?? "";
  return value.split(";")[0]?.trim().toLowerCase() === type;
}

/** Whether an answer is a readable stream of events. */
export function isEventStream(
  response: Response | undefined,
): response is Response & { readonly body: ReadableStream<Uint8Array> } {
  if (!response?.ok || response.body === null) return false;
  return hasContentType(response, "text/event-stream");
}

/**
 * The response to a request, from a JSON or an SSE answer.
 *
 * @param onOther gets the messages that come before it in a stream
 */
export async function readAnswer(
  response: Response,
  id: JsonRpcId,
  onOther?: (message: JsonRpcMessage) => void,
): Promise<JsonRpcResponse | undefined> {
  if (!hasContentType(response, "text/event-stream")) {
    return asAnswer(await readText(response, MAX_MESSAGE_BYTES), id);
  }
  if (response.body === null) return undefined;
  const splitter = createEventSplitter();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    const events = done ? [splitter.finish()] : splitter.push(value);
    const answers = events.map((event) => event && asAnswer(eventText(event), id, onOther));
    const answer = answers.find((message) => message !== undefined);
    if (answer === undefined && !done && splitter.pendingBytes <= MAX_MESSAGE_BYTES) continue;
    await reader.cancel().catch(() => undefined);
    return answer;
  }
}

function asAnswer(
  text: string,
  id: JsonRpcId,
  onOther?: (message: JsonRpcMessage) => void,
): JsonRpcResponse | undefined {
  const message = parseMessage(text);
  if (message && "method" in message) onOther?.(message);
  if (message === undefined || "method" in message) return undefined;
  const isUnnamedError = message.error !== undefined && message.id == null;
  return message.id === id || isUnnamedError ? message : undefined;
}

/** The response to a request that the fetch itself sent, in the text of an answer that is not 2xx and names the request. */
export function answerIn(text: string, id: string): JsonRpcResponse | undefined {
  const answer = asAnswer(text, id);
  return answer?.id === id ? answer : undefined;
}

export const MAX_MESSAGE_BYTES = serverLimits.messageBytes;

/**
 * The text of a body, up to `maxBytes` bytes after decompression, and as far as it came within `ms`
 * milliseconds. The rest is not read.
 */
export async function readText({ body }: Response, maxBytes: number, ms?: number): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const stop = () => reader.cancel().catch(() => undefined);
  // A cancelled body is at its end.
  const stopTimer = ms === undefined ? undefined : startLimit(ms, () => void stop());
  let text = "";
  try {
    for (let length = 0; length < maxBytes;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value.subarray(0, maxBytes - length), { stream: true });
      length += value.length;
    }
  } finally {
    stopTimer?.();
  }
  await stop();
  return text;
}

/** The text of an answer that is not 2xx: as far as it came within 5 seconds, up to 1 MiB. */
export function readRefusal(response: Response): Promise<string> {
  const { bytes, ms } = serverLimits.refusal;
  return readText(response, bytes, ms);
}

/** The text of a short body that comes with its headers, which stays to be read; `undefined` for any other. */
export async function peek(response: Response, signal: AbortSignal): Promise<string | undefined> {
  if (response.body === null || response.body.locked) return undefined;
  const reader = response.clone().body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let isWhole = false;
  const read = async () => {
    for (let chunks = 0; !isWhole && chunks < 64 && text.length <= 4_096; chunks += 1) {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: !done });
      isWhole = done;
    }
  };
  await within(500, abortable(read(), signal)).catch(() => undefined);
  void reader.cancel().catch(() => undefined);
  return isWhole ? text : undefined;
}

/** The answer, with another text if it is a refusal: for what a server may repeat in it. */
export async function rewriteRefusal(
  response: Response,
  rewrite: (text: string) => string,
): Promise<Response> {
  const { status, statusText } = response;
  if (status < 400) return response;
  const text = rewrite(await readRefusal(response));
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(text === "" ? null : text, { status, statusText, headers });
}

/**
 * An answer with what `edit` gives for the text of each message. All else passes as it comes. At a message of more
 * than `maxBytes` bytes, after decompression, the answer breaks off with `OUTCOME_UNKNOWN`.
 */
export function editAnswer(
  response: Response,
  edit: (text: string) => string | Promise<string> = (text) => text,
  maxBytes = MAX_MESSAGE_BYTES,
): Response {
  if (!response.ok || response.body === null) return response;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  // The body may become another one.
  for (const name of ["content-length", "content-encoding"]) headers.delete(name);
  const splitter = isEventStream(response) ? createEventSplitter() : undefined;
  const held = createPartCollector();
  type Controller = TransformStreamDefaultController<Uint8Array>;
  const pass = async (parts: ByteParts, text: string, controller: Controller) => {
    const own = await Promise.resolve(text).then(edit).catch(notTooDeep);
    if (own === text) for (const part of parts) controller.enqueue(part);
    else controller.enqueue(utf8(splitter ? `data: ${own}\n\n` : own));
  };
  const messages = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      if (splitter === undefined) held.add(chunk);
      for (const event of splitter?.push(chunk) ?? [])
        await pass(event.parts, eventText(event), controller);
      if ((splitter?.pendingBytes ?? held.length) > maxBytes)
        throw unread(`of more than ${maxBytes} bytes`);
    },
    async flush(controller) {
      const last = splitter?.finish();
      if (last) await pass(last.parts, eventText(last), controller);
      else if (!splitter) await pass(held.parts, partsText(held.parts, 0, held.length), controller);
    },
  });
  return new Response(response.body.pipeThrough(messages), { status, statusText, headers });
}

/** A message that is nested deeper than the stack cannot be edited. */
function notTooDeep(error: unknown): never {
  throw error instanceof RangeError ? unread("that is nested too deep") : error;
}

function unread(what: string): McpSessionError {
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    `The answer has a message ${what}, and was not read to its end. Whether the request was carried out is unknown; check before you send it again.`,
    { data: { reason: "not-mcp" } },
  );
}

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/**
 * Stops reading an answer, which frees its connection. It does not wait, because some bodies never end to
 * be cancelled, and it never fails, because nobody could do anything.
 */
export function letGo(response: Response | undefined): void {
  void response?.body?.cancel().catch(() => undefined);
}
