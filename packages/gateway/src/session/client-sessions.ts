import { detach } from "@durable-mcp/core/internal";
import {
  type ClientSession,
  namesOf,
  openClientSession,
  type SessionNames,
} from "./client-session.ts";
import type { Centre, SessionName } from "./upstreams.ts";

/** How often idle sessions are looked for, in milliseconds. */
const sweepMs = 30_000;

export type ClientSessions = ReturnType<typeof createClientSessions>;

const keyOf = ({ connection, session }: SessionName) => JSON.stringify([connection, session]);

/** The client sessions that this process has open. Each is opened once, however many requests come at once. */
export function createClientSessions(centre: Centre, idleMs: number) {
  const open = new Map<string, Promise<ClientSession | undefined>>();
  let timer: ReturnType<typeof setInterval> | undefined;

  const all = async () => {
    const opened = [...open.values()].map((opening) => opening.catch(() => undefined));
    return (await Promise.all(opened)).filter((session) => session !== undefined);
  };
  const close = async (session: ClientSession) => {
    open.delete(keyOf(session.of));
    await session.stopListening?.();
    await session.upstream.close();
  };
  const closeIdle = async () => {
    for (const session of await all()) {
      session.dropOldCalls();
      const isIdle = centre.now() - session.usedAt >= idleMs && session.stopListening === undefined;
      if (isIdle && !session.hasCalls()) await close(session).catch(() => undefined);
    }
    if (open.size === 0) stop();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const enter = async (names: SessionNames, isNew: boolean) => {
    const opening = openClientSession(centre, names, isNew);
    open.set(keyOf(names.of), opening);
    timer ??= setInterval(() => void closeIdle(), Math.min(sweepMs, idleMs));
    // It keeps no process alive.
    detach(timer);
    const session = await opening.catch(() => undefined);
    if (session === undefined) open.delete(keyOf(names.of));
    return await opening;
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
    close,
    /** Whether an answer is under way. */
    isCalling: async () => (await all()).some((session) => session.isCalling()),
    /** Closes all. What stands in the store goes on in other processes. */
    async closeAll(): Promise<void> {
      stop();
      await Promise.allSettled((await all()).map(close));
    },
  };
}
