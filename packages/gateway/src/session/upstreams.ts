import {
  McpSessionError,
  type Principal,
  type RecoveryOptions,
  type SessionSlot,
} from "@durable-mcp/core";
import type { LastingClient } from "@durable-mcp/core/internal";
import type { WaitingCalls } from "@durable-mcp/core/waiting";
import {
  createConnectionFetch,
  createDurableSessions,
  type McpClientConnection,
  openStoredFetch,
} from "../base/centre.ts";
import type { GatewayOptions } from "../base/gateway-options.ts";

// A client session is an agent session of the agent "gateway": the command line and `admin` see it as any other.

/** The agent of all client sessions. */
export const agent = "gateway";

/** A client session's session with its server. */
export interface Upstream {
  readonly url: string;
  readonly slot: SessionSlot;
  /** Keeps the session. */
  readonly fetch: typeof globalThis.fetch;
  /** Writes what has changed. */
  readonly save: () => Promise<void>;
  /** Saves, and makes the fetch unusable. The session goes on. */
  readonly close: () => Promise<void>;
  /** Ends the session on its server, and in the store. */
  readonly end: () => Promise<unknown>;
}

/** Names a client session in the store. */
export interface SessionName {
  /** The agent session: a digest of the id that the client has. */
  readonly session: string;
  readonly connection: string;
  readonly principal: Principal;
}

/** What all sessions share. */
export type Centre = ReturnType<typeof createCentre>;

export function createCentre({ connections: given, store, ...options }: GatewayOptions) {
  const { onEvent, now = Date.now } = options;
  const connections = Object.fromEntries(
    Object.entries(given).map(([name, definition]) => [name, withSession(definition)]),
  );
  const observed = onEvent && { onEvent };
  const sessions = createDurableSessions({ connections, store, agent, now, ...observed });
  /** Whether the store has a session no more. */
  const isEnded = async ({ session, connection, principal }: SessionName) => {
    const page = await sessions.list({ sessionId: session, connection, principal, limit: 1 });
    return page.sessions.length === 0;
  };
  return { connections, sessions, store, now, onEvent, isEnded };
}

/** Each client session is a session of the server. */
function withSession(definition: McpClientConnection): McpClientConnection {
  const { session } = definition.options;
  if (typeof session === "object") return definition;
  const options = Object.freeze({ ...definition.options, session: "stateful" as const });
  return Object.freeze({ ...definition, options });
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

/** @returns `undefined` without a record, unless the session is new */
export async function openUpstream(
  { connections, store, now, onEvent }: Centre,
  name: SessionName,
  lasting: (slot: SessionSlot) => LastingClient,
  waiting: WaitingCalls | undefined,
  isNew: boolean,
): Promise<Upstream | undefined> {
  const { url, auth, headers, fetch, timeouts, session } = connections[name.connection]!.options;
  const { maxAgeMs, ...recovery } = typeof session === "object" ? session : {};
  try {
    const opened = await openStoredFetch({
      ...{ url, auth, headers, fetch, store, agent, now, maxAgeMs, onEvent, ...name },
      create: isNew && "once",
      listening: true,
      recovery: recoveryOf(recovery),
      timeouts: { initializeMs: timeouts?.connectMs ?? 10_000, answerMs: timeouts?.answerMs },
      // The client lists for itself, and hears of changes.
      own: (slot) => ({ lasting: lasting(slot), toolList: { maxAgeMs: 0, maxLength: 0 }, waiting }),
    });
    return { ...opened, url: new URL(url).href };
  } catch (error) {
    if (!isNew && McpSessionError.isInstance(error) && error.code === "SESSION_LOST")
      return undefined;
    throw error;
  }
}

type SessionOptions = Exclude<McpClientConnection["options"]["session"], string | undefined>;

function recoveryOf({ resend, onLoss, classifyLoss }: Partial<SessionOptions>): RecoveryOptions {
  if (resend === undefined || typeof resend === "string") return { resend, onLoss, classifyLoss };
  const mayRunTwice = (name: string) =>
    typeof resend === "function" ? resend({ name, annotations: undefined }) : resend.includes(name);
  return {
    ...{ onLoss, classifyLoss },
    resend: ({ method, params }) =>
      method === "tools/call" && mayRunTwice(String(params?.["name"])),
  };
}
