import type { Principal } from "@durable-mcp/core";
import type { LivePool, UsedSession } from "./live-pool.ts";
import { createLiveSession, type LiveSession, type LiveSessionOptions } from "./live-session.ts";
import type { Mailbox } from "../streams/mailbox.ts";
import type { Replica } from "../records/replica.ts";
import type { RequestLog } from "../streams/request-log.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { createHashSessionId, createSessionId, fingerprint } from "../base/session-id.ts";
import type { SessionHandlerOptions, SessionHandlerSettings } from "./session-handler-options.ts";
import type { SessionRecord } from "../records/session-record.ts";
import type { StandaloneStreams } from "../streams/standalone-stream.ts";
import type { StoredSession, StoredSessions } from "../records/stored-session.ts";
import type { Waker } from "../streams/waker.ts";

/** What one handler's parts share. */
export interface HandlerParts {
  readonly settings: SessionHandlerSettings;
  readonly sessions: StoredSessions;
  readonly pool: LivePool;
  readonly log: RequestLog;
  readonly standalone: StandaloneStreams;
  readonly mailbox: Mailbox;
  readonly replica: Replica;
  readonly waker: Waker;
  readonly emit: EmitServerEvent;
}

/** Who a request comes from. */
export interface Caller {
  readonly principal: Principal;
  /** Its structural key. */
  readonly owner: string;
}

/** A session that a request may use. */
export interface FoundSession {
  readonly sessionId: string;
  readonly hash: string;
  readonly owner: string;
  readonly stored: StoredSession;
}

/** The server negotiates another revision than it did when the session started. */
export class CannotRestore extends Error {}

type InitializeParams = SessionRecord["initialize"];

/** Finds sessions, starts them, and gets them into this process's memory. */
export function createSessionDirectory<State extends object>(
  parts: HandlerParts,
  options: SessionHandlerOptions<State>,
) {
  const { settings, sessions, pool, emit } = parts;
  const hashOf = createHashSessionId(settings.limits.liveSessions);

  /** The form of answer that the author chose for this client. */
  function answersFor({ initialize }: SessionRecord) {
    const { answers = "sse" } = options;
    if (typeof answers !== "function") return answers;
    return answers({
      clientInfo: initialize["clientInfo"] as never,
      clientCapabilities: initialize.capabilities,
      protocolVersion: initialize.protocolVersion,
    });
  }

  function build(
    session: FoundSession,
    principal: Principal,
    onInitialize: LiveSessionOptions<State>["onInitialize"],
  ): Promise<LiveSession> {
    const { sessionId, hash, stored } = session;
    return createLiveSession<State>({
      sessionId,
      hash,
      stored,
      principal,
      createServer: options.createServer,
      answers: answersFor(stored.record),
      onStateConflict: options.onStateConflict,
      maxStateBytes: settings.limits.stateBytes,
      keptAnswers: settings.keptAnswers,
      keepAliveMs: settings.keepAliveMs,
      retryMs: settings.retryMs,
      pollIntervalMs: settings.pollIntervalMs,
      log: parts.log,
      standalone: parts.standalone,
      mailbox: parts.mailbox,
      replica: parts.replica,
      waker: parts.waker,
      emit,
      onInitialize,
      onGone: () => void pool.close(hash),
    });
  }

  async function restore(
    session: FoundSession,
    principal: Principal,
    url: string,
  ): Promise<LiveSession> {
    const name = fingerprint(session.hash);
    const { protocolVersion } = session.stored.record;
    try {
      const live = await build(session, principal, async () => {});
      const negotiated = await live.replayInitialize(url).catch(async (error: unknown) => {
        await live.close().catch(() => {});
        throw error;
      });
      if (negotiated !== protocolVersion) {
        await live.close();
        throw new CannotRestore(`The server negotiated ${negotiated}, not ${protocolVersion}.`);
      }
      emit({ type: "restored", session: name, protocolVersion });
      return live;
    } catch (error) {
      emit({ type: "restore-failed", session: name, error });
      throw error;
    }
  }

  async function create(owner: string, initialize: InitializeParams, protocolVersion: string) {
    const sessionId = createSessionId();
    const hash = (await hashOf(sessionId))!;
    const at = settings.now();
    const stored = await sessions.create(hash, {
      version: 1,
      owner,
      createdAt: at,
      usedAt: at,
      changes: 0,
      initialize,
      protocolVersion,
      initialized: protocolVersion !== "",
      subscriptions: [],
      stateVersion: 0,
      state: { ...options.initialState?.() },
    });
    return { sessionId, hash, owner, stored };
  }

  async function remove({ hash }: Pick<FoundSession, "hash">): Promise<void> {
    // In this order: what still runs finds nothing to write to.
    await sessions.remove(hash);
    await pool.close(hash);
    await parts.standalone.remove(hash);
    await parts.mailbox.removeAll(hash);
    await parts.log.removeAll(hash);
  }

  return {
    /** `undefined` for every id that is not a session of this caller, whatever the reason. */
    async find(sessionId: string, { owner }: Caller): Promise<FoundSession | undefined> {
      const hash = await hashOf(sessionId);
      const stored = hash === undefined ? undefined : await sessions.find(hash);
      if (hash !== undefined && stored?.record.owner === owner) {
        return { sessionId, hash, owner, stored };
      }
      emit({ type: "unknown", session: fingerprint(hash ?? "") });
      // A session that ended on another replica leaves this one's memory too.
      if (hash !== undefined && !stored) await pool.close(hash);
      return undefined;
    },

    /** The session's server in this process, brought up to what is stored. */
    async use(session: FoundSession, caller: Caller, url: string): Promise<UsedSession> {
      const used = await pool.use(session.hash, () => restore(session, caller.principal, url));
      try {
        await used.live.follow(session.stored);
        return used;
      } catch (error) {
        used.release();
        throw error;
      }
    },

    /** A new session, to be initialized by its client. */
    async start(
      caller: Caller,
      initialize: InitializeParams,
    ): Promise<UsedSession & { readonly hash: string }> {
      const session = await create(caller.owner, initialize, "");
      const { hash, stored } = session;
      const onInitialize = async (protocolVersion: string | undefined) => {
        // The server goes with the next sweep: it has yet to say why it refused.
        if (protocolVersion === undefined) return await sessions.remove(hash);
        await stored.edit((record) => ({ ...record, protocolVersion }));
        emit({ type: "started", session: fingerprint(hash), protocolVersion });
      };
      try {
        const used = await pool.use(hash, () => build(session, caller.principal, onInitialize));
        return { ...used, hash };
      } catch (error) {
        await sessions.remove(hash);
        throw error;
      }
    },

    /** A session for a client that believes it has one. */
    adopt: (caller: Caller, initialize: InitializeParams, protocolVersion: string) =>
      create(caller.owner, initialize, protocolVersion),

    remove,
  };
}

export type SessionDirectory = ReturnType<typeof createSessionDirectory>;
