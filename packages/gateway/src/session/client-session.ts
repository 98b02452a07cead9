import { sessionFailure, type SessionSlot } from "@durable-mcp/core";
import type { JsonRpcId, LastingClient } from "@durable-mcp/core/internal";
import { failureText, isPlainCall, noAnswer } from "../base/answers.ts";
import type { EventPlace } from "../base/event-ids.ts";
import { messageEvent, primingEvent, type PrimingKind, primingOf } from "../base/events.ts";
import type { CallStream, ServerEvent } from "./call-stream.ts";
import { type Centre, eraOf, openUpstream, type Upstream } from "./upstreams.ts";
import type { SessionNames } from "./session-names.ts";
import { type NamedClient, readNamedClients, writeNamedClient } from "./named-clients.ts";
import type { EnterNamed } from "./named-upstreams.ts";
import { createWaitingQuestions, type WaitingQuestions } from "./waiting-questions.ts";

/** What the model reads once after the server has lost the session. */
const defaultNotice =
  "Note: the server had forgotten this session. What it kept before (open pages, files, logins, selections) is gone; set up again what you still need.";

/** An answer that its client may not have got is kept in the process for this long, in milliseconds. */
const keptMs = 30_000;
/** So many of them. */
const maxKept = 8;

const listChanged = { jsonrpc: "2.0", method: "notifications/tools/list_changed" } as const;

/** What is known of a request until its answer is over, or a moment longer. */
export interface RequestNote {
  readonly kind: EventPlace["kind"];
  /** The server's last event in the stream of its answer. */
  last?: ServerEvent;
  /** The stream of its answer. */
  call?: CallStream;
  overAt?: number;
}

/** By the client's ids as JSON. */
type RequestNotes = Map<string, RequestNote>;

/** A client's session, as far as this process has it. */
export type ClientSession = ReturnType<typeof createClientSession>;

/** @returns `undefined` if there is no such session, and it is not new */
export async function openClientSession(
  centre: Centre,
  names: SessionNames,
  enterNamed: EnterNamed,
  isNew: boolean,
  newcomer?: NamedClient,
): Promise<ClientSession | undefined> {
  const found = async () => (await readNamedClients(centre, names)).find(names.key);
  const named = names.isNamed ? (newcomer ?? (await found())) : undefined;
  if (names.isNamed && named === undefined) return undefined;
  const notes: RequestNotes = new Map();
  const { session } = centre.connections[names.of.connection]!.options;
  const { lossNotice = defaultNotice } = typeof session === "object" ? session : {};
  const waiting = createWaitingQuestions(centre, names.of);
  const telling: Telling = { era: named?.told, over: undefined };
  const save = async () => {
    if (named === undefined) return await upstream?.save();
    return await writeNamedClient(centre, names, { ...named, told: telling.era });
  };
  const words: Words = {
    lossNotice,
    // Other processes do not say it again. Without the store they may.
    onTold() {
      telling.over = save().catch(() => undefined);
      // The server may have been started anew with other tools.
      if (opened?.stopListening) opened.onNews?.(messageEvent(listChanged));
    },
    telling,
    isOneOfMany: names.isNamed,
    edit: (answer, request) => waiting?.edit(answer, request) ?? answer,
  };
  const ofClient = (slot: SessionSlot) => ({
    lasting: lastingClient(names, slot, notes, words),
    waiting: waiting?.calls,
  });
  const member = {
    key: names.key,
    isBehind: (era: number) => telling.era !== era,
    onOther: (noted?: NamedClient) => void (telling.era = noted?.told ?? telling.era),
  };
  const upstream = await (names.isNamed
    ? enterNamed(names, member, ofClient, isNew)
    : openUpstream(centre, names.of, ofClient, isNew));
  const parts = { notes, waiting, telling, named };
  const opened = upstream && createClientSession(centre, names, upstream, parts);
  return opened;
}

interface Telling {
  /** As of the last result: it has told of a lost session, or there was none. */
  era: number | undefined;
  /** The mark in the store that it has told. */
  over: Promise<unknown> | undefined;
}

interface SessionParts {
  readonly notes: RequestNotes;
  readonly waiting: WaitingQuestions | undefined;
  readonly telling: Telling;
  readonly named: NamedClient | undefined;
}

function createClientSession(
  { now }: Centre,
  { of, key, isNamed, events }: SessionNames,
  upstream: Upstream,
  { notes, waiting, telling, named }: SessionParts,
) {
  const { slot } = upstream;
  let usedAt = now();
  let users = 0;
  const primingKind = named ? () => named.priming : createPriming(slot);
  const calls = () => [...notes].filter(([, { call }]) => call !== undefined);
  return {
    ...{ of, key, isNamed, events, upstream, waiting },
    /** Ends the client's listening stream. */
    stopListening: undefined as (() => Promise<void>) | undefined,
    /** Adds an event to it. */
    onNews: undefined as ((event: Uint8Array) => void) | undefined,
    /** Does what the client has asked for. Until then the session is in use. */
    async use<RESULT>(work: () => Promise<RESULT>): Promise<RESULT> {
      users += 1;
      return await work().finally(() => {
        users -= 1;
        usedAt = now();
      });
    },
    /** Since when nobody uses it; now, if somebody does. */
    get usedAt() {
      return users > 0 ? now() : usedAt;
    },
    noteRequest(id: JsonRpcId, kind: EventPlace["kind"]): RequestNote {
      const note = { kind };
      notes.delete(JSON.stringify(id));
      notes.set(JSON.stringify(id), note);
      return note;
    },
    requestOf: (id: unknown) => notes.get(JSON.stringify(id)),
    forgetRequest(id: JsonRpcId, note: RequestNote) {
      if (notes.get(JSON.stringify(id)) === note) notes.delete(JSON.stringify(id));
    },
    /** The server's session whose results tell of no lost one any more. */
    toldEra: () => telling.era,
    told: async () => void (await telling.over),
    /** Of a client that has just come. */
    tellNothing: () => void (telling.era = eraOf(slot)),
    /** Whether an answer is under way, or kept for a client that comes back. */
    hasRequests: () => notes.size > 0,
    isCalling: () => calls().some(([, { call }]) => !call!.isOver),
    /** Forgets answers that their clients must have by now. */
    dropOldCalls() {
      const over = calls().filter(([, { call }]) => call!.isOver);
      for (const [index, [id, note]] of over.entries()) {
        note.overAt ??= now();
        if (index < over.length - maxKept || now() - note.overAt > keptMs) notes.delete(id);
      }
    },
    get era() {
      return eraOf(slot);
    },
    /** Whether the client takes a first event without a message, which brings it back after a break. */
    get takesPriming() {
      return primingKind() !== "none";
    },
    /** The event with that id, if the client takes it. */
    priming(id: string): readonly Uint8Array[] {
      const kind = primingKind();
      return kind === "none" ? [] : [primingEvent(id, kind === "named")];
    },
  };
}

/** How a client takes a first event without a message, as of the last session of the server. */
function createPriming(slot: SessionSlot) {
  let known: PrimingKind = "none";
  return () => {
    const { snapshot } = slot;
    // Of a lost session, the handshake is there.
    if (!snapshot || !("initializeResult" in snapshot) || !snapshot.initializeResult) return known;
    const { clientInfo } = snapshot.kind === "session" ? snapshot : {};
    const { protocolVersion } = snapshot.initializeResult;
    const isNew = protocolVersion >= "2025-11-25";
    if (isNew || clientInfo) known = primingOf(protocolVersion, clientInfo);
    return known;
  };
}

interface Words {
  readonly lossNotice: string | false;
  readonly onTold: () => void;
  readonly telling: Telling;
  /** Whether others have the session, too, and each is told. */
  readonly isOneOfMany: boolean;
  readonly edit: LastingClient["answer"];
}

/** The client's side of core's fetch: its ids, its event ids, and the words of its answers. */
function lastingClient(
  { prefix, events }: SessionNames,
  slot: SessionSlot,
  notes: RequestNotes,
  { lossNotice, onTold, telling, isOneOfMany, edit }: Words,
): LastingClient {
  const noteOf = (id: JsonRpcId | undefined) => notes.get(JSON.stringify(id) ?? "");
  return {
    prefix,
    seal: (eventId, requestId) => {
      const era = eraOf(slot);
      const note = noteOf(requestId);
      if (note) note.last = { eventId, era };
      const kind = requestId === undefined ? "listening" : (note?.kind ?? "request");
      return events.seal({ era, kind, requestId: requestId ?? null, eventId });
    },
    open(sealed) {
      const place = events.open(sealed);
      if (place === undefined || place.eventId === "" || place.era !== eraOf(slot))
        return undefined;
      return { eventId: place.eventId, requestId: place.requestId ?? undefined };
    },
    answer(given, request) {
      const answer = edit(given, request);
      const isCall = isPlainCall(request) || noteOf(request.id)?.kind === "call";
      const failure = answer.error && sessionFailure(slot, answer.error);
      if (failure) return noAnswer(request.id, isCall, failureText(failure));
      const content: unknown = isCall && answer.result?.["content"];
      if (!Array.isArray(content)) return answer;
      const isOther = telling.era !== undefined && telling.era !== eraOf(slot);
      telling.era = eraOf(slot);
      const isUntold = isOneOfMany ? isOther : slot.takeLossNotice();
      if (lossNotice === false || !isUntold) return answer;
      onTold();
      const told = [...(content as unknown[]), { type: "text", text: lossNotice }];
      return { ...answer, result: { ...answer.result, content: told } };
    },
  };
}
