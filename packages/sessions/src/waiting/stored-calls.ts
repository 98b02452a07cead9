import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";
import type { WaitingCall, WaitingEvent, WaitingLimits } from "@durable-mcp/core/waiting";
import type { StoredCall, WaitingContext, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import type { PausingCalls } from "../connection/waiting-parts.ts";
import type { WaitingSource } from "./waiting-source.ts";

/** The code of waiting calls. It is loaded on first use, because few connections pause. */
export const loadWaiting = once(() => import("@durable-mcp/core/waiting/internal"));
export type LoadedWaiting = Awaited<ReturnType<typeof loadWaiting>>;
export type CallIdentity = Parameters<LoadedWaiting["callId"]>[0];

export interface StoredCallsOptions {
  readonly source: WaitingSource;
  readonly principal: Principal | undefined;
  /** How the calls of a connection wait; `undefined` if it is not declared any more, or does not pause. */
  readonly limitsOf: (connection: string) => WaitingLimits | undefined;
  readonly emit: (connection: string, event: WaitingEvent) => void;
  /** A connection's own part; `undefined` if it is not declared any more, or does not let calls wait. */
  readonly pausingOf?: ((connection: string) => PausingCalls | undefined) | undefined;
  /** Has the end of the step wait for work that nobody else waits for. */
  readonly track?: ((work: Promise<unknown>) => void) | undefined;
  /** @default nothing is taken out of a server's errors */
  readonly scrubFor?: WaitingContext["scrubFor"];
  readonly now: () => number;
}

/** The waiting calls of an agent session and principal, of all connections. */
export type StoredCalls = ReturnType<typeof createStoredCalls>;

export function createStoredCalls(options: StoredCallsOptions) {
  const { source, principal, limitsOf, emit, pausingOf, track, scrubFor, now } = options;
  const { store, agent, sessionId, isCarried, claimLeg, closeTimeoutMs, leaveAt, atEnd } = source;
  const load = once(async () => {
    principalParts(principal);
    const of = { agent, sessionId, principal: principal! };
    const waiting = await loadWaiting();
    const calls = waiting.createWaitingStore(store, of, undefined, isCarried);
    const contextOf = ({ connection }: Pick<WaitingCall, "connection">) =>
      waiting.createWaitingContext(calls, {
        ...limitsOf(connection),
        ...{ now, claimLeg, closeTimeoutMs, leaveAt, atEnd, track, scrubFor },
        fetch: pausingOf?.(connection)?.fetch,
        onEvent: (event) => emit(connection, event),
      });
    return { ...waiting, calls, contextOf };
  });

  /** Takes a call back, and what waits in it. @throws {McpSessionError} `NOT_WAITING` */
  const withdraw = async (id: string): Promise<WaitingRecord> => {
    const { calls, contextOf, notWaiting, withdrawCall } = await load();
    const found = await calls.read(id);
    if (found === undefined) throw notWaiting(undefined);
    for (const below of found.call.waitsFor ?? []) await withdraw(below).catch(unlessOver);
    return await withdrawCall(contextOf(found.call), id);
  };

  const current = async (stored: StoredCall): Promise<StoredCall> => {
    const { contextOf, upToDate } = await load();
    return await upToDate(contextOf(stored.call), stored);
  };
  const listCurrent = async (): Promise<StoredCall[]> =>
    await Promise.all((await (await load()).calls.list()).map(current));

  return {
    /** Names the agent session and the principal. */
    get owner() {
      return JSON.stringify([agent, sessionId, principal && principalParts(principal)]);
    },
    withdraw,
    /** What the life of a connection's calls needs: to park, answer, carry out, show and withdraw them. */
    contextOf: async (of: Pick<WaitingCall, "connection">) => (await load()).contextOf(of),
    /**
     * The calls that wait or are being answered, those that were asked first are first. Not those of tools in which
     * agents run: what waits in them is there.
     */
    async list(): Promise<WaitingCall[]> {
      const { describeWaiting } = await load();
      return (await listCurrent()).filter(isListed).map(({ call }) => describeWaiting(call));
    },
    /** A call in any state, or one that is open; `undefined` for an unknown id, and for another principal's. */
    async read(id: string, isWanted?: typeof isListed): Promise<StoredCall | undefined> {
      const stored = await (await load()).calls.read(id);
      return stored && isWanted?.(stored) !== false ? await current(stored) : undefined;
    },
    /** The call as its server says that it is, if that keeps it or its result, and it is to be asked by now. */
    async look(found: StoredCall, signal?: AbortSignal): Promise<StoredCall> {
      const { answerOnServer, isDue, isOnServer } = await load();
      const pausing = pausingOf?.(found.call.connection);
      if (isOnServer(found.call)) {
        const context = await pausing?.contextOf(found.call);
        const answer = context && (await answerOnServer(context, found.call, signal));
        return answer ? { ...found, call: { ...found.call, answer } as WaitingRecord } : found;
      }
      if (!isDue(found.call, now())) return found;
      return (await pausing?.look(found, signal)) ?? found;
    },
    /** The calls that are to be looked at by now. */
    async due(): Promise<StoredCall[]> {
      const { isDue } = await load();
      return (await listCurrent()).filter(({ call }) => isDue(call, now()));
    },
    /** Notes that a conversation has the result of a call that is over. @returns whether the call is as it was read */
    async noteDelivered(stored: StoredCall): Promise<boolean> {
      const { calls, delivers, isOpen: isStillOpen } = await load();
      if (isStillOpen(stored.call) || stored.call.isDelivered) return true;
      return (await calls.replace(stored, delivers(stored.call))) !== undefined;
    },
  };
}

/** Goes on where a call that should be taken back, or claimed, is over or another process's. */
export function unlessOver(error: unknown): undefined {
  if (!McpSessionError.isInstance(error) || error.code !== "NOT_WAITING") throw error;
}

/** Whether a call waits or is being answered. */
export function isOpen({
  call: { state },
}: {
  readonly call: Pick<WaitingCall, "state">;
}): boolean {
  return state === "waiting" || state === "answering";
}

/** Whether somebody sees a call: a tool in which agents run only waits for their calls. */
export function isListed({ call }: { readonly call: WaitingRecord }): boolean {
  return isOpen({ call }) && call.type !== "sub-agent";
}
