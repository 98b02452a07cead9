import { isRecord } from "../base/json-values.ts";
import { noteProof, refusesInside } from "../session/buffered-answer.ts";
import { lose, type SessionContext } from "../session/session-context.ts";
import { saysUnknown } from "../session/lost-session.ts";
import { lostOnServer } from "../session/session-errors.ts";
import { isCurrent } from "../session/session-life.ts";
import { deliverFailure, isDelivered } from "../session/session-slot.ts";
import { observeStandingRequests } from "../session/standing-requests.ts";
import { withoutTask } from "../session/task-answer.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { boundPage } from "../tools/list-pages.ts";
import { leftInSlot, observeTools } from "../tools/tool-list.ts";
import {
  type ByteParts,
  partsBetween,
  partsText,
  type Replacement,
  utf8,
} from "../wire/byte-parts.ts";
import {
  isRequest,
  isUsable,
  mayBeRefused,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
  parseMessage,
  parseMessages,
  UnusableAnswer,
  withoutRefused,
} from "../wire/json-rpc.ts";
import { type PendingRequest, type RequestIds, restoreProgress } from "../wire/request-ids.ts";
import { scrubError, scrubFailure, scrubStrings } from "../wire/scrub-session-id.ts";
import { receiveMessage } from "./server-requests.ts";

/** The edit of a message from the server: a replaced part, withholding it, or none. */
export type MessageEdit = Replacement | "drop" | undefined;

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
const unrefused = (text: string) => (mayBeRefused.test(text) ? undefined : parseMessage(text));

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
 */
export function createRestorer(
  context: SessionContext,
  owner: PendingRequest | undefined,
  session: () => LiveSession,
  namedId: string | null = null,
  inEvents = true,
): AnswerRestorer {
  const { ids, lasting } = context;
  const { find, findAtEnd } = createFinder(ids, owner);
  const reader = createReader(context, session, namedId);
  const readAnswer: typeof reader.readAnswer = (message, pending) => {
    const read = reader.readAnswer(message, pending);
    return lasting?.answer(read, pending.request) ?? read;
  };

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
    const restored = readAnswer(message, pending);
    const printed = restored === message ? undefined : JSON.stringify(restored);
    ids.settle(pending);
    return printed === undefined ? edit : { start, end, text: printed };
  };

  /** The message for the client; the same object if nothing in it is ours, `undefined` to withhold it. */
  const restoreOne = (
    message: JsonRpcMessage,
    answered: Set<PendingRequest>,
  ): JsonRpcMessage | undefined => {
    if ("method" in message) return reader.readOther(message, find);
    const unnamed = message.id == null;
    // If a server could not read the request, its error has no id.
    const pending = find(unnamed && isRecord(message.error) ? owner?.wireId : message.id);
    if (pending === undefined || answered.has(pending)) {
      // No request went out under a client's own id, so an answer with such an id is for nobody here.
      return owner === undefined && unnamed ? message : undefined;
    }
    const restored = readAnswer(message, pending);
    answered.add(pending);
    return { ...restored, id: pending.request.id };
  };

  const restoreParsed = (parts: ByteParts, start: number, end: number): MessageEdit => {
    const parsed = parseMessages(partsText(parts, start, end));
    if (parsed === undefined) return undefined;
    const answered = new Set<PendingRequest>();
    const restored = parsed.messages.map((message) => restoreOne(message, answered));
    if (restored.every((message, index) => message === parsed.messages[index])) return undefined;
    const kept = restored.filter((message) => message !== undefined);
    const text = print(kept, parsed.isBatch, inEvents);
    // Settle only after printing, because printing fails for a message nested deeper than the stack.
    for (const pending of answered) ids.settle(pending);
    return kept.length === 0 ? "drop" : { start, end, text };
  };

  return (parts, start, end) => {
    try {
      const atEnd = end - start > printedUpTo ? restoreAtEnd(parts, start, end) : undefined;
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

/** Reads the messages of a session for the fetch, and gives their form for the client: the same object, if nothing is ours. */
function createReader(context: SessionContext, session: () => LiveSession, namedId: string | null) {
  const { state, ids, emit, onEvent, url } = context;
  /** The ids of the session and of the one that the answer named, which may be another. */
  const secrets = (): string[] => {
    const from = session();
    const sessionIds = [namedId, from.kind === "session" ? from.sessionId : null];
    return [...new Set(sessionIds)].filter((id) => id !== null && id !== "") as string[];
  };
  const observe = (message: JsonRpcMessage, answered?: PendingRequest) => {
    ids.observeTasks(message, answered);
    const from = session();
    // A lost session's news about tools does not concern its successor.
    if (!isCurrent(state, from)) return false;
    // The client gets the error. The next request makes the handshake again.
    if (refusesInside(from, message)) lose(context, from, answered?.request.method ?? "", 200);
    if (answered !== undefined && from.kind === "session") noteProof(from, message);
    const isInSlot = observeTools(context, message, answered?.request);
    if (answered !== undefined && !("method" in message)) {
      observeStandingRequests(state, message, answered.request);
    }
    return isInSlot;
  };
  return {
    /** An answer, with all but its id as the client gets it. */
    readAnswer(message: JsonRpcResponse, pending: PendingRequest): JsonRpcResponse {
      if (!isUsable(message)) throw new UnusableAnswer();
      const { request } = pending;
      const answer = withoutTask(context, boundPage(context, message, request), request);
      const isInSlot = observe(answer, pending);
      if (isInSlot) {
        const result = leftInSlot(answer.result!, request);
        return result === answer.result ? answer : { ...answer, result };
      }
      if (answer.result !== undefined) {
        const result = secrets().reduce(scrubFailure, answer.result);
        return result === answer.result ? answer : { ...answer, result };
      }
      if (answer.error === undefined) return answer;
      const { id, method } = request;
      // Unlike any other code of ours this one claims nothing, so a server may say it.
      if (saysUnknown(answer.error) && !isDelivered(state, answer.error)) {
        return JSON.parse(deliverFailure(state, id, lostOnServer({ method, url })));
      }
      return { ...answer, error: secrets().reduce(scrubError, answer.error) };
    },
    /** A request or a notification of the server. */
    readOther(message: JsonRpcRequest | JsonRpcNotification, find: RequestIds["find"]) {
      observe(message);
      const progress = restoreProgress(message, { ...ids, find });
      const forClient = progress ?? receiveMessage(context, message, session());
      // Without a listener, notifications need no event.
      if (onEvent === undefined || isRequest(forClient) || !("method" in forClient))
        return forClient;
      const said = { method: forClient.method, params: forClient.params };
      const scrubbed = secrets().reduce<unknown>(scrubStrings, said);
      emit({ type: "notification", ...(scrubbed as typeof said) });
      return forClient;
    },
  };
}
