import {
  connectTimeoutMs,
  createConnectionFetch,
  createSessionsOfAny,
  createStepEvents,
  loadStoredSlot,
  type McpClientConnection,
  sessionsContextOf,
} from "../base/centre.ts";
import {
  type ActiveSessionSnapshot,
  createSessionFetch,
  McpSessionError,
  type Principal,
  type SessionFetchOptions,
  type SessionSlot,
} from "@durable-mcp/core";
import type { LastingClient } from "@durable-mcp/core/internal";
import type { GatewayOptions } from "../base/gateway-options.ts";

// A client session is an agent session of the agent "gateway": the command line and `admin` see it as any other.

/** The agent of all client sessions. */
const agent = "gateway";
/** Headers and tokens are asked for again after this time, in milliseconds. */
const credentialsMs = 300_000;

/** A client session's session with its server. */
export interface Upstream {
  readonly url: string;
  readonly slot: SessionSlot;
  /** Keeps the session: core's session fetch. */
  readonly fetch: typeof globalThis.fetch;
  /** Marks it as used, at most once in a minute. */
  touch(): Promise<void>;
  /** Writes what has changed. */
  save(): Promise<void>;
}

/** Names a client session in the store. */
export interface SessionName {
  /** The agent session: a digest of the id that the client has. */
  readonly session: string;
  readonly connection: string;
  readonly principal: Principal;
}

export type Centre = ReturnType<typeof createCentre>;

/** What all sessions share. */
export function createCentre({
  connections: given,
  store,
  onEvent,
  now = Date.now,
}: GatewayOptions) {
  const connections = Object.fromEntries(
    Object.entries(given).map(([name, definition]) => [name, withSession(definition)]),
  );
  const observed = onEvent && { onEvent };
  const sessions = createSessionsOfAny({ connections, store, agent, now, ...observed });
  const context = sessionsContextOf(sessions);
  return { connections, sessions, context, store: context.store, now };
}

/** The requests of one principal to one server, with the operator's credentials. */
export function openFetch(
  { connections, now }: Centre,
  connection: string,
  principal: Principal,
): typeof globalThis.fetch {
  const { options } = connections[connection]!;
  const create = () => {
    const { signal: abortSignal } = new AbortController();
    return createConnectionFetch(options, { connection, principal, abortSignal }, { now }).fetch;
  };
  let current = create();
  let since = now();
  return (input, init) => {
    if (now() - since > credentialsMs) {
      current = create();
      since = now();
    }
    return current(input, init);
  };
}

/** @returns `undefined` without a record, unless the session is new */
export async function openUpstream(
  centre: Centre,
  { session, connection, principal }: SessionName,
  lasting: (slot: SessionSlot) => LastingClient,
  isNew: boolean,
): Promise<Upstream | undefined> {
  const { context, store, now } = centre;
  const definition = centre.connections[connection]!;
  const { emit } = createStepEvents(context.tell, session);
  const step = { ...context, sessionId: session, emit, abortSignal: undefined };
  const stored = await loadStoredSlot(step, { connection }, { principal, definition });
  const { slot } = stored;
  if (!isNew && slot.snapshot === undefined) return undefined;
  stored.endUnused();
  const { url } = definition.options;
  let markedAt = now();
  let isMade = !isNew;
  const onSession = async (own: ActiveSessionSnapshot) => {
    // It was ended while it was being recovered.
    if (isMade && (await store.get(stored.key)) === undefined) throw ended(connection);
    isMade = true;
    const dated = { ...own, startedAt: now() };
    return (await stored.onSession?.(dated)) ?? dated;
  };
  return {
    url: new URL(url).href,
    slot,
    fetch: createSessionFetch({
      ...fetchOptions(definition),
      ...{ url, slot, now, onSession, listening: true, lasting: lasting(slot) },
      fetch: openFetch(centre, connection, principal),
      onEvent: (event) => emit({ ...event, connection }),
    }),
    async touch() {
      if (now() - markedAt < context.touchIntervalMs) return;
      markedAt = now();
      await stored.touch();
    },
    save: () => stored.close(),
  };
}

/** Each client session is a session of the server. */
function withSession(definition: McpClientConnection): McpClientConnection {
  const { session } = definition.options;
  if (typeof session === "object") return definition;
  return Object.freeze({
    ...definition,
    options: Object.freeze({ ...definition.options, session: "stateful" as const }),
  });
}

function fetchOptions(definition: McpClientConnection): Partial<SessionFetchOptions> {
  const { session, timeouts } = definition.options;
  const { resend, onLoss, classifyLoss } = typeof session === "object" ? session : {};
  const mayRunTwice = (name: string) =>
    Array.isArray(resend)
      ? (resend as string[]).includes(name)
      : typeof resend === "function" && resend({ name, annotations: undefined });
  return {
    // The client lists for itself, and hears of changes.
    toolList: { maxAgeMs: 0, maxLength: 0 },
    recovery: {
      ...{ onLoss, classifyLoss },
      resend:
        resend === undefined || typeof resend === "string"
          ? resend
          : ({ method, params }) =>
              method === "tools/call" && mayRunTwice(String(params?.["name"])),
    },
    timeouts: { initializeMs: connectTimeoutMs(definition), answerMs: timeouts?.answerMs },
  };
}

function ended(connection: string): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    `Connection ${connection}: the session was ended meanwhile. The request was not carried out.`,
    { data: { connection } },
  );
}
