import { type ByteParts, partsText } from "./byte-parts.ts";
import { isRecord, type JsonRpcMessage, parseMessage } from "./json-rpc.ts";
import { type PendingRequest, type RequestIds, restoreMessage } from "./request-ids.ts";

/** What to do with a message from the server: leave it, replace a part of it, or keep it back. */
export type MessageEdit =
  | { readonly start: number; readonly end: number; readonly text: string }
  | "drop"
  | undefined;

export interface AnswerRestorer {
  /** Decides on the message in `parts` from `start` to `end`, settling the request it answers. */
  restore(parts: ByteParts, start: number, end: number): MessageEdit;
}

/** Up to this size, in bytes, a message is parsed; of a larger one only the two ends are read. */
const parsedUpTo = 16_384;
const endLength = 256;
const idMember = (prefix: string) => `"id"\\s*:\\s*"(${prefix.replaceAll(".", "\\.")}\\d+)"`;
const versionMember = '"jsonrpc"\\s*:\\s*"2\\.0"';

/**
 * Puts the client's request ids back into the messages of an answer, as bytes.
 *
 * Servers print the id as the first or the last member of the message (beside `jsonrpc`), so for
 * a large message a look at its two ends is enough and the rest passes as it came: an unescaped
 * `"id":"…"` there can only be the message's own member. Everything else is parsed.
 *
 * @param options.pending the request that the HTTP answer belongs to
 * @param options.observe sees each message that was parsed, and the request it answers
 * @param options.reads whether `observe` needs the answer to this request, however large
 */
export function createAnswerRestorer({
  ids,
  pending: owner,
  observe,
  reads,
  scrub,
}: {
  ids: RequestIds;
  pending: PendingRequest | undefined;
  observe: (message: JsonRpcMessage, request: PendingRequest | undefined) => void;
  reads: (pending: PendingRequest) => boolean;
  scrub: (text: string) => string;
}): AnswerRestorer {
  const first = new RegExp(`^\\s*\\{\\s*(?:${versionMember}\\s*,\\s*)?${idMember(ids.prefix)}`);
  const last = new RegExp(`${idMember(ids.prefix)}\\s*(?:,\\s*${versionMember}\\s*)?\\}\\s*$`);

  const restoreEnds = (parts: ByteParts, start: number, end: number): MessageEdit => {
    const head = partsText(parts, start, start + endLength);
    const tail = partsText(parts, end - endLength, end);
    if (head.includes('"error"')) return undefined;
    const atHead = first.exec(head);
    const match = atHead ?? last.exec(tail);
    const pending = ids.find(match?.[1]);
    if (match === null || pending === undefined || reads(pending)) return undefined;
    ids.settle(pending);
    // What stands between the id and the near end is ASCII, so characters there count as bytes.
    const before = match[0].indexOf(`"${pending.wireId}"`);
    const from = atHead ? start + match.index + before : end - (tail.length - match.index - before);
    return {
      start: from,
      end: from + pending.wireId.length + 2,
      text: JSON.stringify(pending.request.id),
    };
  };

  const restoreParsed = (parts: ByteParts, start: number, end: number): MessageEdit => {
    const text = partsText(parts, start, end);
    const message = parseMessage(text);
    if (message === undefined) return undefined;
    const isResponse = !("method" in message);
    const isError = isResponse && isRecord(message.error);
    const unnamed = isResponse && (message.id === null || message.id === undefined);
    // A server that could not read the request reports so without its id.
    const pending = isResponse
      ? ids.find(unnamed && isError ? owner?.wireId : message.id)
      : undefined;
    if (isResponse && pending === undefined && isOurs(message.id, ids)) return "drop";
    observe(message, pending);
    const restored = pending
      ? { ...message, id: pending.request.id }
      : restoreMessage(message, ids);
    if (pending) ids.settle(pending);
    if (restored === undefined) return undefined;
    const restoredText = JSON.stringify(restored);
    return { start, end, text: isError ? scrub(restoredText) : restoredText };
  };

  return {
    restore(parts, start, end) {
      return (
        (end - start > parsedUpTo ? restoreEnds(parts, start, end) : undefined) ??
        restoreParsed(parts, start, end)
      );
    },
  };
}

function isOurs(id: unknown, ids: RequestIds): boolean {
  return typeof id === "string" && ids.prefix !== "" && id.startsWith(ids.prefix);
}
