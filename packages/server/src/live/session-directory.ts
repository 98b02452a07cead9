import type { Principal } from "@durable-mcp/core";
import { createHashSessionId, createSessionId, fingerprint } from "../base/session-id.ts";
import type { MessageExtra } from "../base/mcp-types.ts";
import { newSessionRecord, type SessionRecord } from "../records/session-record.ts";
import { removeAllUnder, storeKeyPrefix } from "../records/store-key.ts";
import type { FoundRow } from "../records/stored-session.ts";
import { removeTasks } from "../session-tasks/stored-tasks.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import { createLivePool, type LivePool, type UsedSession } from "./live-pool.ts";
import { createLiveSession, type LiveSession, negotiatedVersion } from "./live-session.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import { createSweeper } from "./sweeper.ts";

/** The sender of a request. */
export interface Caller {
  readonly principal: Principal;
  /** The structural key of the principal. */
  readonly owner: string;
}

/** A session that a request may use. */
export interface FoundSession {
  readonly sessionId: string;
  readonly found: FoundRow;
}

/** The server negotiates another revision than it did when the session started. */
export class CannotRestore extends Error {}

/** The share of a bounded store that new sessions leave to the answers and states of those that exist. */
const freeForOthers = 0.2;

type InitializeParams = SessionRecord["initialize"];

/** Finds sessions, starts them, and builds their servers in this process. */
export function createSessionDirectory<State extends object>(
  context: HandlerContext,
  options: SessionHandlerOptions<State>,
) {
  const { settings, sessions, sessionCount, emit } = context;
  const pool: LivePool = createLivePool(settings.limits.liveSessions, emit, (isUsed) =>
    sweeper.run(isUsed),
  );
  const sweeper = createSweeper(context, pool);
  const hashOf = createHashSessionId(settings.limits.liveSessions);

  const build = ({ sessionId, found }: FoundSession, principal: Principal) =>
    createLiveSession<State>(context, options, {
      ...{ sessionId, found, principal },
      onGone: () => void pool.close(found.hash),
    });

  return {
    pool,
    sweep: sweeper.sweep,
    /** Whether the caller may start no further session. */
    hasTooMany: async ({ owner, principal }: Caller): Promise<boolean> =>
      principal.type !== "anonymous" && (await sessionCount.isFull(owner)),
    /** `undefined` for every id that is not a session of this caller, whatever the reason. */
    async find(sessionId: string, { owner }: Caller): Promise<FoundSession | undefined> {
      const hash = await hashOf(sessionId);
      const live = hash === undefined ? undefined : pool.find(hash);
      const found = hash === undefined ? undefined : await sessions.find(hash, live?.stored);
      if (found?.record.owner === owner) return { sessionId, found };
      emit({ type: "unknown", session: fingerprint(hash) });
      // The server of a session that ended on another replica is closed here too.
      if (hash !== undefined && !found) await pool.close(hash);
      return undefined;
    },

    /** The session's server in this process, brought up to the row that was read. */
    async use(session: FoundSession, { principal }: Caller): Promise<UsedSession> {
      const { found } = session;
      const restored = () => restore(found, build(session, principal), emit);
      const used = await pool.use(found.hash, restored);
      try {
        await used.live.follow(found);
        return used;
      } catch (error) {
        used.release();
        throw error;
      }
    },

    ...createSessionStart(context, options, { pool, hashOf, build }),
    /** Ends a session, on all replicas. */
    end: (session: FoundRow) => endSession(context, pool, session),
  };
}

export type SessionDirectory = ReturnType<typeof createSessionDirectory>;

/** Initializes a server that was built for a stored session. */
async function restore(
  { hash, record: { protocolVersion } }: FoundRow,
  building: Promise<LiveSession>,
  emit: HandlerContext["emit"],
): Promise<LiveSession> {
  const session = fingerprint(hash);
  try {
    const live = await building;
    const negotiated = await live.replay().catch(async (error: unknown) => {
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

interface StartOptions {
  readonly pool: LivePool;
  readonly hashOf: (sessionId: string) => Promise<string | undefined>;
  readonly build: (session: FoundSession, principal: Principal) => Promise<LiveSession>;
}

function createSessionStart<State extends object>(
  context: HandlerContext,
  { stateScope = "session" }: SessionHandlerOptions<State>,
  { pool, hashOf, build }: StartOptions,
) {
  const { settings, sessions, sessionCount, emit } = context;

  async function create(owner: string, initialize: InitializeParams, protocolVersion: string) {
    const sessionId = createSessionId();
    const hash = (await hashOf(sessionId))!;
    const state = stateScope === "session" ? context.initialState() : {};
    const record = newSessionRecord(owner, initialize, protocolVersion, state, settings.now());
    const found = await sessions.create(hash, record, freeForOthers);
    sessionCount.started(owner);
    return { sessionId, found };
  }

  return {
    /** A new session, initialized. @returns its server's answer */
    async start({ owner, principal }: Caller, initialize: InitializeParams, extra: MessageExtra) {
      const session = await create(owner, initialize, "");
      const { hash } = session.found;
      try {
        const { live, release } = await pool.use(hash, () => build(session, principal));
        try {
          const answer = await live.start(extra);
          const protocolVersion = negotiatedVersion(answer);
          if (protocolVersion !== undefined) {
            await live.stored.write({ edit: (record) => ({ ...record, protocolVersion }) });
            emit({ type: "started", session: fingerprint(hash), protocolVersion });
            return { answer: answer!, sessionId: session.sessionId, format: live.format };
          }
          await sessions.remove(hash);
          await pool.close(hash);
          // Closed meanwhile, or refused by the author's server.
          return { answer, sessionId: undefined, format: live.format };
        } finally {
          release();
        }
      } catch (error) {
        await sessions.remove(hash).catch(() => {});
        await pool.close(hash);
        throw error;
      }
    },

    /** A new session for a client that believes it has one. */
    adopt: ({ owner }: Caller, initialize: InitializeParams): Promise<FoundSession> =>
      create(owner, initialize, initialize.protocolVersion),
  };
}

async function endSession(
  context: HandlerContext,
  pool: LivePool,
  { hash, record }: FoundRow,
): Promise<void> {
  const { settings, store, sessions } = context;
  // In this order: calls that still run find no record to write to.
  await sessions.remove(hash);
  context.sessionCount.ended(record.owner);
  context.signals.send(context.topicOf(hash));
  await pool.close(hash);
  await context.standalone.remove(hash);
  await context.mailbox.removeAll(hash);
  // Those of an anonymous client.
  await removeTasks(context, hash);
  for (const kind of ["question", "answer", "messages"] as const) {
    await removeAllUnder(store, storeKeyPrefix(settings.name, kind, hash));
  }
}
