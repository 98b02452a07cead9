import type { Principal } from "@durable-mcp/core";
import { createHashSessionId, createSessionId, fingerprint } from "../base/session-id.ts";
import { newSessionRecord, type SessionRecord } from "../records/session-record.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { HandlerContext } from "./handler-context.ts";
import { createLivePool, type UsedSession } from "./live-pool.ts";
import { createLiveSession, type LiveSession } from "./live-session.ts";
import type { SessionHandlerOptions } from "./session-handler-options.ts";
import type { OnInitialize } from "./session-handshake.ts";

/** The sender of a request. */
export interface Caller {
  readonly principal: Principal;
  /** The structural key of the principal. */
  readonly owner: string;
}

/** A session that a request may use. */
export interface FoundSession {
  readonly sessionId: string;
  readonly stored: StoredSession;
}

/** The server negotiates another revision than it did when the session started. */
export class CannotRestore extends Error {}

type InitializeParams = SessionRecord["initialize"];

/** Finds sessions, starts them, and builds their servers in this process. */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createSessionDirectory<State extends object>(
  context: HandlerContext,
  options: SessionHandlerOptions<State>,
) {
  const { settings, sessions, emit } = context;
  const pool = createLivePool(settings.limits.liveSessions, emit);
  const hashOf = createHashSessionId(settings.limits.liveSessions);

  const build = (session: FoundSession, principal: Principal, onInitialize?: OnInitialize) =>
    createLiveSession<State>(context, options, {
      ...{ ...session, principal, onInitialize },
      onGone: () => void pool.close(session.stored.hash),
    });

  async function create(owner: string, initialize: InitializeParams, protocolVersion: string) {
    const sessionId = createSessionId();
    const hash = (await hashOf(sessionId))!;
    const state = options.initialState?.() ?? {};
    const record = newSessionRecord(owner, initialize, protocolVersion, state, settings.now());
    const stored = await sessions.create(hash, record);
    return { sessionId, stored };
  }

  return {
    pool,
    /** `undefined` for every id that is not a session of this caller, whatever the reason. */
    async find(sessionId: string, { owner }: Caller): Promise<FoundSession | undefined> {
      const hash = await hashOf(sessionId);
      const stored = hash === undefined ? undefined : await sessions.find(hash);
      if (stored?.record.owner === owner) return { sessionId, stored };
      emit({ type: "unknown", session: fingerprint(hash) });
      // The server of a session that ended on another replica is closed here too.
      if (hash !== undefined && !stored) await pool.close(hash);
      return undefined;
    },

    /** The session's server in this process, brought up to the stored record. */
    async use(session: FoundSession, { principal }: Caller, url: string): Promise<UsedSession> {
      const { stored } = session;
      const restored = () => restore(stored, url, build(session, principal), emit);
      const used = await pool.use(stored.hash, restored);
      try {
        await used.live.follow(stored);
        return used;
      } catch (error) {
        used.release();
        throw error;
      }
    },

    /** A new session, to be initialized by its client. */
    async start({ owner, principal }: Caller, initialize: InitializeParams) {
      const session = await create(owner, initialize, "");
      const { stored } = session;
      const onInitialize: OnInitialize = async (protocolVersion) => {
        // The server refused. It is closed by the next sweep: it has yet to send its reason.
        if (protocolVersion === undefined) return await sessions.remove(stored.hash);
        await stored.edit((record) => ({ ...record, protocolVersion }));
        emit({ type: "started", session: fingerprint(stored.hash), protocolVersion });
      };
      try {
        const used = await pool.use(stored.hash, () => build(session, principal, onInitialize));
        return { ...used, stored };
      } catch (error) {
        await sessions.remove(stored.hash);
        throw error;
      }
    },

    /** A new session for a client that believes it has one. */
    adopt: ({ owner }: Caller, initialize: InitializeParams): Promise<FoundSession> =>
      create(owner, initialize, initialize.protocolVersion),

    /** Ends a session, on all replicas. */
    async end({ hash }: StoredSession): Promise<void> {
      // In this order: calls that still run find no record to write to.
      await sessions.remove(hash);
      await pool.close(hash);
      await context.standalone.remove(hash);
      await context.mailbox.removeAll(hash);
      await context.log.removeAll(hash);
    },
  };
}

export type SessionDirectory = ReturnType<typeof createSessionDirectory>;

/** Initializes a server that was built for a stored session. */
async function restore(
  { hash, record: { protocolVersion } }: StoredSession,
  url: string,
  building: Promise<LiveSession>,
  emit: HandlerContext["emit"],
): Promise<LiveSession> {
  const session = fingerprint(hash);
  try {
    const live = await building;
    const negotiated = await live.handshake.replay(url).catch(async (error: unknown) => {
      await live.close().catch(() => {});
      throw error;
    });
    if (negotiated !== protocolVersion) {
      await live.close();
      throw new CannotRestore(
        `The server of createServer negotiated ${negotiated} for a session that started with ${protocolVersion}.`,
      );
    }
    emit({ type: "restored", session, protocolVersion });
    return live;
  } catch (error) {
    emit({ type: "restore-failed", session, error });
    throw error;
  }
}
