import { McpSessionError, type Principal, type SessionSlot } from "@durable-mcp/core";
import {
  connectionFailure,
  isEventStream,
  type LastingClient,
  letGo,
  tryInsistently,
} from "@durable-mcp/core/internal";
import type { WaitingCalls } from "@durable-mcp/core/waiting";
import {
  createBoundedStore,
  createConnectionFetch,
  createDurableSessions,
  mayRunTwice,
  openStoredFetch,
  redefine,
} from "../base/centre.ts";
import type { GatewayOptions } from "../base/gateway-options.ts";
import { createPrograms } from "../program/program-connections.ts";

// A client session is an agent session of the agent "gateway": the command line and `admin` see it as any other.

/** The agent of all client sessions. */
export const agent = "gateway";

/** Names a client session in the store. */
export interface SessionName {
  /** The agent session: a digest of the id that the client has. */
  readonly session: string;
  readonly connection: string;
  readonly principal: Principal;
}

/** What all sessions share. */
export type Centre = ReturnType<typeof createCentre>;

/** For one operation of the store, in milliseconds. */
const storeMs = 15_000;

export function createCentre({ connections: declared, ...options }: GatewayOptions) {
  const { onEvent, now = Date.now } = options;
  const store = createBoundedStore(options.store, storeMs, now);
  const programs = createPrograms(declared, options.sharedPrograms);
  // Each client session is a session of the server.
  const entries = Object.entries(programs.connections).map(([name, definition]) => {
    const { session = "stateful" } = definition.options;
    const own = session === "stateless" ? "stateful" : session;
    return [name, redefine(definition, { ...definition.options, session: own })] as const;
  });
  const connections = Object.fromEntries(entries);
  const observed = onEvent && { onEvent };
  const sessions = createDurableSessions({ connections, store, agent, now, ...observed });
  /** Whether the store has a session no more. */
  const isEnded = async ({ session, connection, principal }: SessionName) => {
    const page = await sessions.list({ sessionId: session, connection, principal, limit: 1 });
    return page.sessions.length === 0;
  };
  return { connections, sessions, programs, store, now, onEvent, isEnded };
}

/** The requests without a session of one principal to one server, with the operator's credentials. */
export function openFetch(
  { connections, now }: Centre,
  connection: string,
  principal: Principal,
): typeof globalThis.fetch {
  const { options } = connections[connection]!;
  const { signal: abortSignal } = new AbortController();
  return createConnectionFetch(options, { connection, principal, abortSignal }, { now }).fetch;
}

/** A server that restarts has this long until it takes connections again, in milliseconds. */
const restartMs = 10_000;

/** Whether a request has certainly not left. */
const isUnsent = (error: unknown) =>
  !(McpSessionError.isInstance(error) && error.code === "OUTCOME_UNKNOWN") &&
  connectionFailure(error)?.sent === "never";

/** Sends what was not sent again, until the server takes it. */
export const untilSent = async (send: () => Promise<Response>) =>
  await send().catch(async (error: unknown) => {
    if (!isUnsent(error)) throw error;
    return await tryInsistently(restartMs, send, (again) => !isUnsent(again));
  });

/** Refusals that are for now. 409: it has not noticed yet that the reader before has gone. */
const isForNow = (status: number) => status >= 500 || [408, 409, 429].includes(status);

/** A client session's session with its server. */
export type Upstream = Pick<OpenUpstream, "slot" | "save" | "close" | keyof Requests> & {
  readonly end: () => Promise<unknown>;
};
export type OpenUpstream = NonNullable<Awaited<ReturnType<typeof openUpstream>>>;
type Requests = ReturnType<typeof requestsOn>;

/** Tells a session of the server from those before and after it. */
export function eraOf({ snapshot }: SessionSlot): number {
  return snapshot?.kind === "session" ? (snapshot.startedAt ?? 0) : 0;
}

/** How the server's session looks to one client. */
export type OfClient = (slot: SessionSlot) => {
  readonly lasting: LastingClient;
  readonly waiting?: WaitingCalls | undefined;
};

/** @returns `undefined` without a record, unless the session is new */
export async function openUpstream(
  { connections, store, now, onEvent }: Centre,
  name: SessionName,
  ofClient: OfClient,
  isNew: boolean,
  onOther?: () => Promise<void>,
) {
  const { url, auth, headers, fetch, timeouts, session } = connections[name.connection]!.options;
  const { maxAgeMs, resend, onLoss, classifyLoss } = typeof session === "object" ? session : {};
  // The client lists for itself, and hears of changes.
  const toolList = { maxAgeMs: 0, maxLength: 0 };
  const opening = openStoredFetch({
    ...{ url, auth, headers, fetch, store, agent, now, maxAgeMs, onEvent, ...name },
    create: isNew && "once",
    ...{ onOther, listening: true },
    recovery: {
      ...{ onLoss, classifyLoss },
      resend:
        resend === undefined || typeof resend === "string"
          ? resend
          : ({ method, params }) =>
              method === "tools/call" && mayRunTwice({ name: String(params?.["name"]) }, resend),
    },
    timeouts: { initializeMs: timeouts?.connectMs ?? 10_000, answerMs: timeouts?.answerMs },
    own: (slot) => ({ ...ofClient(slot), toolList }),
  });
  const opened = await opening.catch((error: unknown) => {
    const isMissing = McpSessionError.isInstance(error) && error.code === "SESSION_LOST";
    if (isNew || !isMissing) throw error;
    return undefined;
  });
  const { href } = new URL(url);
  return (
    opened && {
      ...{ ...opened, ...requestsOn(href, opened.fetch) },
      /** The requests of another client of the session. */
      requestsOf: (another: OfClient) =>
        requestsOn(
          href,
          opened.another((slot) => ({ ...another(slot), toolList })),
        ),
    }
  );
}

const accept = "application/json, text/event-stream";

/** The requests of a client session. Nothing goes up that the client says of itself: neither its token nor its cookies. */
function requestsOn(url: string, fetch: typeof globalThis.fetch) {
  const posted = { "content-type": "application/json", accept };
  const post = async (body: string) => await fetch(url, { method: "POST", headers: posted, body });
  const get = async (headers: object) =>
    await fetch(url, { headers: { accept: "text/event-stream", ...headers } });
  return {
    post,
    postInsistently: async (body: string) => await untilSent(() => post(body)),
    /** The stream of the server's own messages. */
    listen: async () => await get({}),
    /** The rest of a stream; `undefined` if the server does not resume it. */
    async resume(lastEventId: string): Promise<ReadableStream<Uint8Array> | undefined> {
      const resumed = async () => {
        const response = await get({ "last-event-id": lastEventId });
        if (isEventStream(response)) return response.body;
        letGo(response);
        if (isForNow(response.status)) throw new Error("Not now.");
        return undefined;
      };
      return await tryInsistently(restartMs, resumed).catch(() => undefined);
    },
  };
}
