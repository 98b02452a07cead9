import type { Centre, SessionName } from "./upstreams.ts";
import {
  type ClientSession,
  namesOf,
  openClientSession,
  type SessionNames,
} from "./client-session.ts";

/** How often idle sessions are looked for, in milliseconds. */
const sweepMs = 30_000;

export type ClientSessions = ReturnType<typeof createClientSessions>;

const keyOf = ({ connection, session }: SessionName) => JSON.stringify([connection, session]);

/** The client sessions that this process has open. Each is opened once, however many requests come at once. */
export function createClientSessions(centre: Centre, idleMs: number) {
  const open = new Map<string, Promise<ClientSession | undefined>>();
  let timer: ReturnType<typeof setInterval> | undefined;

  const close = async (key: string, session: ClientSession) => {
    open.delete(key);
    await session.stopListening?.();
    await session.upstream.close();
  };
  const closeIdle = async () => {
    for (const [key, opening] of open) {
      const session = await opening.catch(() => undefined);
      if (session === undefined) continue;
      session.dropOldCalls();
      const isIdle = centre.now() - session.usedAt >= idleMs && session.stopListening === undefined;
      if (isIdle && session.calls.size === 0) await close(key, session).catch(() => undefined);
    }
    if (open.size === 0) stop();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const start = () => {
    if (timer !== undefined) return;
    timer = setInterval(() => void closeIdle(), Math.min(sweepMs, idleMs));
    // It keeps no process alive. Other runtimes have numbers for timers.
    (timer as { unref?: () => void }).unref?.();
  };
  const enter = async (names: SessionNames, isNew: boolean) => {
    const key = keyOf(names.of);
    const opening = openClientSession(centre, names, isNew);
    open.set(key, opening);
    start();
    const session = await opening.catch((error: unknown) => {
      open.delete(key);
      throw error;
    });
    if (session === undefined) open.delete(key);
    return session;
  };

  return {
    /** The session of a client's id; `undefined` if this principal has no such session of this connection. */
    async find(id: string, connection: string, principal: SessionName["principal"]) {
      const names = await namesOf(id, connection, principal);
      return await (open.get(keyOf(names.of)) ?? enter(names, false));
    },
    /** Opens a session that the store does not have yet. */
    begin: async (names: SessionNames): Promise<ClientSession> => (await enter(names, true))!,
    /** Closes a session in this process. */
    close: async (session: ClientSession): Promise<void> => await close(keyOf(session.of), session),
    /** All that are open. */
    all: async () =>
      (await Promise.all([...open.values()].map((each) => each.catch(() => undefined)))).filter(
        (session) => session !== undefined,
      ),
    /** Closes all. What stands in the store goes on in other processes. */
    async closeAll(): Promise<void> {
      stop();
      const closing = [...open].map(async ([key, opening]) => {
        const session = await opening.catch(() => undefined);
        if (session) await close(key, session);
      });
      await Promise.allSettled(closing);
    },
  };
}
