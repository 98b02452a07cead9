import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";
import type { WaitingCall, WaitingEvent, WaitingLimits } from "@durable-mcp/core/waiting";
import type {
  KeptCalls,
  StoredCall,
  WaitingContext,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import type { PausingCalls } from "../connection/waiting-parts.ts";
import type { WaitingSource } from "./waiting-source.ts";

/** The code of waiting calls. It is loaded on first use, because few connections pause. */
export const loadWaiting = once(() => import("@durable-mcp/core/waiting/internal"));

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
  const { store, agent, sessionId, isCarried, ...limits } = source;
  const load = once(async () => {
    principalParts(principal);
    const of = { agent, sessionId, principal: principal! };
    const waiting = await loadWaiting();
    const records = waiting.createWaitingStore(store, of, undefined, isCarried);
    const callsOf = ({ connection }: Pick<WaitingCall, "connection">): KeptCalls =>
      waiting.createKeptCalls(records, {
        ...limitsOf(connection),
        ...limits,
        ...{ now, track, scrubFor },
        fetch: pausingOf?.(connection)?.fetch,
        onEvent: (event) => emit(connection, event),
      });
    return { ...waiting, records, callsOf };
  });
  const callsOf = async (of: Pick<WaitingCall, "connection">): Promise<KeptCalls> =>
    (await load()).callsOf(of);

  /** Takes a call back, and what waits in it. @throws {McpSessionError} `NOT_WAITING` */
  const withdraw = async (id: string): Promise<WaitingRecord> => {
    const waiting = await load();
    const found = await waiting.records.read(id);
    if (found === undefined) throw waiting.notWaiting(undefined);
    for (const below of found.call.waitsFor ?? []) await withdraw(below).catch(unlessOver);
    return await waiting.callsOf(found.call).withdraw(id);
  };

  const current = async (stored: StoredCall): Promise<StoredCall> =>
    await (await callsOf(stored.call)).upToDate(stored);
  const listCurrent = async (): Promise<StoredCall[]> =>
    await Promise.all((await (await load()).records.list()).map(current));

  return {
    /** For its watches. */
    ...{ source, now, records: async (): Promise<KeptCalls["records"]> => (await load()).records },
    /** Names the agent session and the principal. */
    get owner() {
      return JSON.stringify([agent, sessionId, principal && principalParts(principal)]);
    },
    withdraw,
    /** As a call's connection lets its calls wait. */
    callsOf,
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
      const stored = await (await load()).records.read(id);
      return stored && isWanted?.(stored) !== false ? await current(stored) : undefined;
    },
    /** The call as its server says that it is, if that keeps it or its result, and it is to be asked by now. */
    async look(found: StoredCall, signal?: AbortSignal): Promise<StoredCall> {
      const pausing = pausingOf?.(found.call.connection);
      if (pausing === undefined) return found;
      const calls = await pausing.callsOf(found.call);
      if (calls.isDue(found.call)) return await pausing.look(found, signal);
      const answer = await calls.answerOnServer(found.call, signal);
      return answer ? { ...found, call: { ...found.call, answer } as WaitingRecord } : found;
    },
    /** The calls that are to be looked at by now. */
    async due(): Promise<StoredCall[]> {
      const { callsOf: own } = await load();
      return (await listCurrent()).filter(({ call }) => own(call).isDue(call));
    },
    /** Notes that a conversation has the result of a call that is over. @returns whether the call is as it was read */
    async noteDelivered(stored: StoredCall): Promise<boolean> {
      return await (await load()).records.noteDelivered(stored);
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
