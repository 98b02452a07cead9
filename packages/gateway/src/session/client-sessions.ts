import { detach } from "@durable-mcp/core/internal";
import { type ClientSession, openClientSession } from "./client-session.ts";
import { createKnownNames, type SessionAddress, type SessionNames } from "./session-names.ts";
import type { NamedClient } from "./named-clients.ts";
import { createNamedUpstreams } from "./named-upstreams.ts";
import type { Centre } from "./upstreams.ts";

/** How often idle sessions are looked for, in milliseconds. */
const sweepMs = 30_000;

export type ClientSessions = ReturnType<typeof createClientSessions>;

/** The client sessions that this process has open. Each is opened once, however many requests come at once. */
export function createClientSessions(centre: Centre, idleMs: number) {
  const open = new Map<string, Promise<ClientSession | undefined>>();
  const named = createNamedUpstreams(centre);
  const namesOf = createKnownNames();
  let timer: ReturnType<typeof setInterval> | undefined;

  const all = async () => {
    const opened = [...open.values()].map((opening) => opening.catch(() => undefined));
    return (await Promise.all(opened)).filter((session) => session !== undefined);
  };
  const close = async (session: ClientSession) => {
    open.delete(session.key);
    await session.stopListening?.();
    await session.upstream.close();
  };
  const rest = async (session: ClientSession) => {
    const { snapshot } = session.upstream.slot;
    await close(session);
    // A client that is there listens. What has a name waits for the next one.
    if (snapshot?.kind === "session" && !session.isNamed)
      await centre.programs.rest(session.of.connection, snapshot.sessionId);
  };
  const closeIdle = async () => {
    for (const session of await all()) {
      session.dropOldCalls();
      const isIdle = centre.now() - session.usedAt >= idleMs && session.stopListening === undefined;
      if (isIdle && !session.hasRequests()) await rest(session).catch(() => undefined);
    }
    if (open.size === 0) stop();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const enter = async (names: SessionNames, isNew: boolean, newcomer?: NamedClient) => {
    const opening = openClientSession(centre, names, named.enter, isNew, newcomer);
    open.set(names.key, opening);
    timer ??= setInterval(() => void closeIdle(), Math.min(sweepMs, idleMs));
    // It keeps no process alive.
    detach(timer);
    const session = await opening.catch(() => undefined);
    if (session === undefined) open.delete(names.key);
    return await opening;
  };

  return {
    /** The session of a client's id; `undefined` if this principal has no such session of this connection. */
    async find(id: string, address: SessionAddress) {
      const names = await namesOf(id, address);
      return await (open.get(names.key) ?? enter(names, false));
    },
    /** Opens a session that the store does not have yet. */
    begin: async (names: SessionNames, newcomer?: NamedClient): Promise<ClientSession> =>
      (await enter(names, true, newcomer))!,
    /** How many clients of a name are here. */
    countNamed: named.count,
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
