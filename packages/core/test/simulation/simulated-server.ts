import { idMarker, type IssuedSession, type WireRequest } from "./invariant-model.ts";
import type { Random } from "./random.ts";

/** An event stream that answers one request. */
export interface AnswerStream {
  readonly name: string;
  /** Whether the events have ids and are kept, so that the stream can be resumed. */
  readonly isKept: boolean;
  readonly events: string[];
  /** Where new events go; `undefined` while the connection is broken. */
  out: ReadableStreamDefaultController<Uint8Array> | undefined;
  isOver: boolean;
  /** The event that is being written; the next one waits for it. */
  writing: Promise<void>;
}

/** What a request waits for: its answer, or the news that its connection was closed. */
interface Responder {
  answer(message: object): void;
  close(): void;
}

/** A session as the server keeps it. */
export interface ServerSession extends IssuedSession {
  /** Whether `notifications/initialized` has arrived. */
  isReady: boolean;
  /** Routes answers by request id, as SDK servers do: a second request under an id takes the place. */
  readonly responders: Map<string, Responder>;
  readonly streams: Map<string, AnswerStream>;
  /** What was asked of the client, under the id of the question. */
  readonly questions: Map<number, string>;
  readonly cancelled: Set<string>;
  questionCount: number;
}

/** The refusals of one server for a session that it does not know, in its own words. */
export interface Refusal {
  readonly loss: "definite-loss" | "probable-loss" | "doubt";
  readonly status: number;
  /** `body` as the server says it of this request. */
  readonly body: (request: WireRequest) => string;
}

const rpcError = (code: number, message: string) => (request: WireRequest) =>
  JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: request.message?.id ?? null });
const rpcErrorWithoutId = (code: number, message: string) => () =>
  JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });

const refusals: readonly Refusal[] = [
  { loss: "definite-loss", status: 404, body: () => "Session not found\n" },
  { loss: "definite-loss", status: 404, body: rpcErrorWithoutId(-32001, "Session not found") },
  { loss: "definite-loss", status: 404, body: rpcError(-32001, "Session not found") },
  { loss: "definite-loss", status: 404, body: (request) => `No session ${request.sessionId}` },
  {
    loss: "definite-loss",
    status: 400,
    body: rpcErrorWithoutId(-32000, "Bad Request: No valid session ID provided"),
  },
  {
    loss: "definite-loss",
    status: 400,
    body: rpcErrorWithoutId(-32000, "Bad Request: Server not initialized"),
  },
  {
    loss: "definite-loss",
    status: 400,
    body: rpcErrorWithoutId(-32000, "Bad Request: Mcp-Session-Id header is required"),
  },
  {
    loss: "probable-loss",
    status: 400,
    body: (request) => `Session expired: ${request.sessionId}`,
  },
  { loss: "probable-loss", status: 409, body: rpcError(-32000, "Unknown session") },
  { loss: "doubt", status: 500, body: () => "Oh." },
  { loss: "doubt", status: 403, body: rpcErrorWithoutId(-32000, "Invalid state") },
  { loss: "doubt", status: 410, body: (request) => `Gone: ${request.sessionId}` },
  { loss: "doubt", status: 200, body: rpcError(-32600, "Invalid Request") },
];

export const expiredOnTheWay: Refusal = {
  loss: "probable-loss",
  status: 400,
  body: rpcError(-32000, "The session is no longer valid"),
};

/** One MCP endpoint with its table of sessions. */
export interface SimulatedServer {
  readonly url: string;
  readonly refusal: Refusal;
  /** How answers are sent. */
  readonly answersAs: "json" | "events" | "either";
  readonly hasEventStore: boolean;
  /** Whether a session that is used before it is ready is destroyed, as by rmcp. */
  readonly isStrict: boolean;
  /** Whether a request on a session that it does not know is carried out in a new one, which it names. */
  readonly adopts: boolean;
  /** Whether every answer carries the session id, as with about half of the servers. */
  readonly repeatsId: boolean;
  readonly sessions: Map<string, ServerSession>;
  /** Goes up with each restart: what was under way before it ends there. */
  readonly generation: () => number;
  start(owner: string | undefined, version?: string): ServerSession;
  /** Forgets all sessions and goes on with what is under way. */
  forget(): void;
  end(sessionId: string): void;
  restart(): void;
}

export function createSimulatedServer(url: string, random: Random): SimulatedServer {
  const sessions = new Map<string, ServerSession>();
  /** The forgotten ones too: what is under way on them is still to be answered. */
  const all = new Set<ServerSession>();
  let generation = 0;
  let started = 0;
  const version = random.pick(["2025-11-25", "2025-06-18"]);
  const versionAfterRestart = random.pick(["2025-11-25", "2025-06-18"]);
  // Characters that look different inside a JSON string come up too.
  const ending = random.pick(["", "", '"quoted"', "\\slash", "%2F+&"]);
  const close = (session: ServerSession) => {
    for (const responder of session.responders.values()) responder.close();
    session.responders.clear();
  };
  return {
    url,
    refusal: random.pick(refusals),
    answersAs: random.pick(["json", "events", "either"] as const),
    hasEventStore: random.chance(0.6),
    isStrict: random.chance(0.3),
    adopts: random.chance(0.15),
    repeatsId: random.chance(0.5),
    sessions,
    generation: () => generation,
    start(owner, ownVersion) {
      started += 1;
      const session: ServerSession = {
        id: `${idMarker}${new URL(url).pathname.length}-${generation}-${started}-${new URL(url).hostname}${ending}`,
        url,
        owner,
        version: ownVersion ?? (generation === 0 ? version : versionAfterRestart),
        isReady: false,
        responders: new Map(),
        streams: new Map(),
        questions: new Map(),
        cancelled: new Set(),
        questionCount: 0,
      };
      sessions.set(session.id, session);
      all.add(session);
      return session;
    },
    forget: () => sessions.clear(),
    end(sessionId) {
      const session = sessions.get(sessionId);
      sessions.delete(sessionId);
      if (session) close(session);
    },
    restart() {
      generation += 1;
      for (const session of all) close(session);
      all.clear();
      sessions.clear();
    },
  };
}
