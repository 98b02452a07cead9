import { isRecord } from "../base/json-values.ts";
import type { SessionContext } from "../session/session-context.ts";
import type { LiveSession } from "../session/slot-state.ts";
import {
  type ByteParts,
  partsBetween,
  partsText,
  type Replacement,
  utf8,
} from "../wire/byte-parts.ts";
import {
  mayBeRefused,
  type JsonRpcMessage,
  parseMessage,
  parseMessages,
  UnusableAnswer,
  withoutRefused,
} from "../wire/json-rpc.ts";
import type { PendingRequest, RequestIds } from "../wire/request-ids.ts";
import { createReader } from "./message-reader.ts";

/** The edit of a message from the server: a replaced part, withholding it or, if its client has it, leaving it out, or none. */
export type MessageEdit = Replacement | "drop" | "taken" | undefined;

/** Decides on the message in `parts` from `start` to `end`, and settles its request. */
export type AnswerRestorer = (parts: ByteParts, start: number, end: number) => MessageEdit;

/** A message up to this size, in bytes, is printed again. In a larger one the id is replaced, if it can be. */
const printedUpTo = 16_384;
const endLength = 256;
/** JSON's white space. `\s` has more characters, some of several bytes. */
const space = "[ \\t\\r\\n]*";
const idMember = (prefix: string) =>
  `"id"${space}:${space}"(${prefix.replaceAll(".", "\\.")}[^"\\\\]+)"`;
const versionMember = `"jsonrpc"${space}:${space}"2\\.0"`;

/** The message's own id, if one of its two ends has it, and the place of the id in that end. */
function findIdAtEnd(prefix: string, head: string, tail: string) {
  const id = idMember(prefix);
  const first = new RegExp(`^${space}\\{${space}(?:${versionMember}${space},${space})?${id}`);
  const last = new RegExp(`${id}${space}(?:,${space}${versionMember}${space})?\\}${space}$`);
  const inHead = first.exec(head);
  const match = inHead ?? last.exec(tail);
  if (match === null) return undefined;
  const [text, wireId = ""] = match;
  return { wireId, at: match.index + text.indexOf(`"${wireId}"`), isInHead: inHead !== null };
}

/** Finds the request that a message answers; in the HTTP answer to `owner`, no other request. */
function createFinder(ids: RequestIds, owner: PendingRequest | undefined) {
  const find: RequestIds["find"] = (wireId) => {
    if (owner === undefined) return ids.find(wireId);
    const pending = ids.find(wireId) ?? ids.restore(wireId);
    return pending?.wireId === owner.wireId ? pending : undefined;
  };

  /** The request that a message names at one of its ends, and the edit of that id. */
  const findAtEnd = (parts: ByteParts, start: number, end: number) => {
    const head = partsText(parts, start, Math.min(end, start + endLength));
    const tail = partsText(parts, Math.max(start, end - endLength), end);
    const found = findIdAtEnd(ids.prefix, head, tail);
    const pending = find(found?.wireId);
    if (found === undefined || pending === undefined) return undefined;
    // The text between the id and the near end is ASCII, so each character there is one byte.
    const from = found.isInHead ? start + found.at : end - (tail.length - found.at);
    const to = from + found.wireId.length + 2;
    return { pending, edit: { start: from, end: to, text: JSON.stringify(pending.request.id) } };
  };

  return { find, findAtEnd };
}

/** The message in a text that may pass as it is. */
const unrefused = (text: string) => (mayBeRefused(text) ? undefined : parseMessage(text));

/** A message as a client of ours takes it. @throws {RangeError} for an error too deep to be told */
function asTaken(message: JsonRpcMessage, mayHaveRefused: boolean): JsonRpcMessage {
  if (!mayHaveRefused && !("error" in message)) return message;
  return JSON.parse(withoutRefused(JSON.stringify(message)));
}

/** Messages as clients take them: from a stream, no batch. */
function print(messages: readonly JsonRpcMessage[], isBatch: boolean, inEvents: boolean): string {
  const texts = messages.map((message) => withoutRefused(JSON.stringify(message)));
  if (inEvents) return texts.join("\n\ndata: ");
  return isBatch ? `[${texts.join()}]` : (texts[0] ?? "");
}

/**
 * Turns a session's messages into messages for the client: with the client's request ids, as bytes, and without the
 * session id. It settles a request with an answer that its client can use, and notes news about tools, and
 * notifications.
 *
 * Servers print the id as the first or the last member of the message (beside `jsonrpc`), so in a large message it
 * is replaced there, and the rest passes unchanged. What the client will read is parsed before it counts.
 *
 * @param owner the request of the HTTP answer, if there is one. An answer to another request is withheld
 * @param namedId the session id in the header of the answer
 * @param inEvents whether each message is an event of a stream
 * @param take gets the messages in place of bytes
 */
export function createRestorer(
  context: SessionContext,
  owner: PendingRequest | undefined,
  session: () => LiveSession,
  namedId: string | null = null,
  inEvents = true,
  take?: (message: JsonRpcMessage) => void,
): AnswerRestorer {
  const { ids } = context;
  const { find, findAtEnd } = createFinder(ids, owner);
  const reader = createReader(context, session, namedId);

  /** The edit of a large message whose id is at one of its ends, if the client finds its own id there. */
  const restoreAtEnd = (parts: ByteParts, start: number, end: number): MessageEdit => {
    const { pending, edit } = findAtEnd(parts, start, end) ?? {};
    if (pending === undefined || edit === undefined) return undefined;
    const before = partsBetween(parts, start, edit.start);
    const edited = [...before, utf8(edit.text), ...partsBetween(parts, edit.end, end)];
    const message = unrefused(partsText(edited, 0, Infinity));
    // A second id may be anywhere in between.
    const isAnswer = message && !("method" in message) && message.id === pending.request.id;
    if (!isAnswer) return undefined;
    const restored = reader.readAnswer(message, pending);
    const printed = restored === message ? undefined : JSON.stringify(restored);
    ids.settle(pending);
    return printed === undefined ? edit : { start, end, text: printed };
  };

  /** The message for the client; the same object if nothing in it is ours, `undefined` to withhold it. */
  const restoreOne = (
    message: JsonRpcMessage,
    answered: PendingRequest[],
  ): JsonRpcMessage | undefined => {
    if ("method" in message) return reader.readOther(message, find);
    const unnamed = message.id == null;
    // If a server could not read the request, its error has no id.
    const pending = find(unnamed && isRecord(message.error) ? owner?.wireId : message.id);
    if (pending === undefined || answered.includes(pending)) {
      // No request went out under a client's own id, so an answer with such an id is for nobody here.
      return owner === undefined && unnamed ? message : undefined;
    }
    const restored = reader.readAnswer(message, pending);
    answered.push(pending);
    return { ...restored, id: pending.request.id };
  };

  const restoreParsed = (parts: ByteParts, start: number, end: number): MessageEdit => {
    const all = partsText(parts, start, end);
    const parsed = parseMessages(all);
    if (parsed === undefined) return undefined;
    const answered: PendingRequest[] = [];
    const restored = parsed.messages.map((message) => restoreOne(message, answered));
    if (!take && restored.every((message, index) => message === parsed.messages[index]))
      return undefined;
    const kept = restored.filter((message) => message !== undefined);
    const taken = take && kept.map((message) => asTaken(message, mayBeRefused(all)));
    const text = take ? "" : print(kept, parsed.isBatch, inEvents);
    // Settle only after printing, because printing fails for a message nested deeper than the stack.
    for (const pending of answered) ids.settle(pending);
    for (const message of taken ?? []) take!(message);
    if (kept.length === 0) return "drop";
    return take ? "taken" : { start, end, text };
  };

  return (parts, start, end) => {
    try {
      const atEnd =
        !take && end - start > printedUpTo ? restoreAtEnd(parts, start, end) : undefined;
      const edit = atEnd ?? restoreParsed(parts, start, end);
      if ((edit ?? "drop") === "drop" && findAtEnd(parts, start, end)) throw new UnusableAnswer();
      return edit;
    } catch (error) {
      if (error instanceof UnusableAnswer && owner !== undefined) throw error;
      // A message nested deeper than the stack is of no use, and does not count as an answer.
      if (error instanceof UnusableAnswer || error instanceof RangeError) return "drop";
      throw error;
    }
  };
}
