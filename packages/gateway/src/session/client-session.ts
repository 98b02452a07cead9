import { principalParts, sessionFailure, type SessionSlot } from "@durable-mcp/core";
import { type JsonRpcId, type LastingClient, textDigest } from "@durable-mcp/core/internal";
import { failureText, isPlainCall, noAnswer } from "../base/answers.ts";
import { createEventIds, type EventPlace } from "../base/event-ids.ts";
import type { CallStream, ServerEvent } from "./call-stream.ts";
import { type Centre, openUpstream, type SessionName, type Upstream } from "./upstreams.ts";
import { createWaitingQuestions, type WaitingQuestions } from "./waiting-questions.ts";

/** What the model reads once after the server has lost the session. */
const defaultNotice =
  "Note: the server had forgotten this session. What it kept before (open pages, files, logins, selections) is gone; set up again what you still need.";

/** An answer that its client may not have got is kept in the process for this long, in milliseconds. */
const keptMs = 30_000;
/** So many of them. */
const maxKept = 8;

/** What is known of a request until its answer is over. */
interface RequestNote {
  readonly kind: EventPlace["kind"];
  /** The server's last event id in the stream of its answer. */
  last?: ServerEvent;
}

type RequestNotes = Map<string, RequestNote>;

/** Clients that take a first event without a message before revision 2025-11-25. */
const knownToTakeIt = new Set(["codex-mcp-client", "gemini-cli-mcp-client"]);

/** A client's session, as far as this process has it. */
export type ClientSession = ReturnType<typeof createClientSession>;

/** The names that come from the id that a client has. Nobody finds the id from them. */
export async function namesOf(id: string, connection: string, principal: SessionName["principal"]) {
  const digest = (use: string) =>
    textDigest(JSON.stringify([use, id, connection, ...principalParts(principal)]));
  const [session, wire, events] = await Promise.all(["session", "wire", "events"].map(digest));
  return {
    of: { session: session!.slice(0, 32), connection, principal },
    prefix: wire!.slice(0, 12),
    events: createEventIds(events!.slice(0, 16)),
  };
}

export type SessionNames = Awaited<ReturnType<typeof namesOf>>;

/** @returns `undefined` if there is no such session, and it is not new */
export async function openClientSession(
  centre: Centre,
  names: SessionNames,
  isNew: boolean,
): Promise<ClientSession | undefined> {
  const notes: RequestNotes = new Map();
  const { session } = centre.connections[names.of.connection]!.options;
  const { lossNotice = defaultNotice } = typeof session === "object" ? session : {};
  // Other processes do not say it again. Without the store they may.
  const onTold = () => void upstream?.save().catch(() => undefined);
  const waiting = createWaitingQuestions(centre, names.of);
  const lasting = (slot: SessionSlot) => {
    const client = lastingClient(names, slot, notes, { lossNotice, onTold });
    if (waiting === undefined) return client;
    const { answer } = client;
    return { ...client, answer: ((own, of) => answer(waiting.edit(own, of), of)) as typeof answer };
  };
  const upstream = await openUpstream(centre, names.of, lasting, waiting?.calls, isNew);
  return upstream && createClientSession(centre, names, upstream, notes, waiting);
}

function createClientSession(
  { now }: Centre,
  { of, events }: SessionNames,
  upstream: Upstream,
  notes: RequestNotes,
  waiting: WaitingQuestions | undefined,
) {
  const { slot } = upstream;
  let usedAt = now();
  /** As of the last session of the server. */
  let takesPriming = false;
  /** The calls under way, and those that ended a moment ago, by the client's ids as JSON. */
  const calls = new Map<string, CallStream>();
  const overAt = new WeakMap<CallStream, number>();
  const forget = (key: string) => {
    calls.delete(key);
    notes.delete(key);
  };
  return {
    ...{ of, events, upstream, waiting },
    calls,
    /** Ends the client's listening stream. */
    stopListening: undefined as (() => Promise<void>) | undefined,
    get usedAt() {
      return usedAt;
    },
    noteUse: () => void (usedAt = now()),
    noteRequest: (id: JsonRpcId, kind: EventPlace["kind"]) =>
      void notes.set(JSON.stringify(id), { kind }),
    forgetRequest: (id: JsonRpcId) => forget(JSON.stringify(id)),
    /** The server's last event in the answer to a request. */
    lastEvent: (id: JsonRpcId) => notes.get(JSON.stringify(id))?.last,
    /** Forgets answers that their clients must have by now. */
    dropOldCalls() {
      const over = [...calls].filter(([, call]) => call.isOver);
      for (const [index, [key, call]] of over.entries()) {
        const since = overAt.get(call) ?? now();
        overAt.set(call, since);
        if (index < over.length - maxKept || now() - since > keptMs) forget(key);
      }
    },
    get era() {
      return eraOf(slot);
    },
    /** Whether the client takes a first event without a message, which brings it back after a break. */
    get takesPriming() {
      const { snapshot } = slot;
      if (snapshot?.kind === "session") {
        const { clientInfo, initializeResult } = snapshot;
        const isKnown = knownToTakeIt.has(String(clientInfo?.["name"]));
        takesPriming = isKnown || initializeResult.protocolVersion >= "2025-11-25";
      }
      return takesPriming;
    },
  };
}

function eraOf({ snapshot }: SessionSlot): number {
  return snapshot?.kind === "session" ? (snapshot.startedAt ?? 0) : 0;
}

/** The client's side of core's fetch: its ids, its event ids, and the words of its answers. */
function lastingClient(
  { prefix, events }: SessionNames,
  slot: SessionSlot,
  notes: RequestNotes,
  { lossNotice, onTold }: { readonly lossNotice: string | false; readonly onTold: () => void },
): LastingClient {
  const kindOf = (id: JsonRpcId | undefined) =>
    id === undefined ? "listening" : (notes.get(JSON.stringify(id))?.kind ?? "request");
  return {
    prefix,
    seal: (eventId, requestId) => {
      const era = eraOf(slot);
      const note = notes.get(JSON.stringify(requestId));
      if (note) note.last = { eventId, era };
      const place = { era, kind: kindOf(requestId), requestId: requestId ?? null };
      return events.seal({ ...place, eventId });
    },
    open(sealed) {
      const place = events.open(sealed);
      if (place === undefined || place.eventId === "" || place.era !== eraOf(slot))
        return undefined;
      return { eventId: place.eventId, requestId: place.requestId ?? undefined };
    },
    answer(answer, request) {
      const isCall = isPlainCall(request) || kindOf(request.id) === "call";
      const failure = answer.error && sessionFailure(slot, answer.error);
      if (failure) return noAnswer(request.id, isCall, failureText(failure));
      const content = isCall && lossNotice !== false ? answer.result?.["content"] : undefined;
      if (!Array.isArray(content) || !slot.takeLossNotice()) return answer;
      onTold();
      const note = { type: "text", text: lossNotice };
      return {
        ...answer,
        result: { ...answer.result, content: [...(content as unknown[]), note] },
      };
    },
  };
}
