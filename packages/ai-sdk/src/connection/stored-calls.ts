import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";
import type {
  WaitingAuthorization,
  WaitingCall,
  WaitingEvent,
  WaitingLimits,
} from "@durable-mcp/core/waiting";
import type {
  ClaimedOutcome,
  ParkedCall,
  StoredCall,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import type { WaitingSource } from "./waiting-source.ts";

/** The code of waiting calls. It is loaded on first use, because few connections pause. */
export const loadWaiting = once(() => import("@durable-mcp/core/waiting/internal"));
export type LoadedWaiting = Awaited<ReturnType<typeof loadWaiting>>;

export interface StoredCallsOptions {
  readonly source: WaitingSource;
  readonly principal: Principal | undefined;
  /** How the calls of a connection wait; `undefined` if it is not declared any more, or does not pause. */
  readonly limitsOf: (connection: string) => WaitingLimits | undefined;
  readonly emit: (connection: string, event: WaitingEvent) => void;
  readonly now: () => number;
}

/** The waiting calls of an agent session and principal, of all connections. */
export type StoredCalls = ReturnType<typeof createStoredCalls>;

export function createStoredCalls(options: StoredCallsOptions) {
  const { source, principal, limitsOf, emit, now } = options;
  const { store, agent, sessionId, claimLeg, closeTimeoutMs } = source;
  const load = once(async () => {
    principalParts(principal);
    const waiting = await loadWaiting();
    const calls = waiting.createWaitingStore(store, { agent, sessionId, principal: principal! });
    const contextOf = (connection: string) =>
      waiting.createWaitingContext(calls, {
        ...limitsOf(connection),
        ...{ now, claimLeg, closeTimeoutMs },
        onEvent: (event) => emit(connection, event),
      });
    return { ...waiting, calls, contextOf };
  });

  return {
    /** The calls that wait or are being answered, those that were asked first are first. */
    async list(): Promise<WaitingCall[]> {
      const { calls, contextOf, upToDate, describeWaiting } = await load();
      const stored = await calls.list();
      const current = await Promise.all(
        stored.map((each) => upToDate(contextOf(each.call.connection), each)),
      );
      return current.filter(isOpen).map(({ call }) => describeWaiting(call));
    },
    /** A call in any state; `undefined` for an unknown id, and for another principal's. */
    async read(id: string): Promise<StoredCall | undefined> {
      const { calls, contextOf, upToDate } = await load();
      const stored = await calls.read(id);
      return stored && (await upToDate(contextOf(stored.call.connection), stored));
    },
    /** @throws {McpSessionError} `NOT_WAITING` */
    async withdraw(id: string): Promise<WaitingCall> {
      const { calls, contextOf, withdrawCall, describeWaiting, notWaiting } = await load();
      const stored = await calls.read(id);
      if (stored === undefined) throw notWaiting(undefined);
      return describeWaiting(await withdrawCall(contextOf(stored.call.connection), id));
    },
    /** Keeps a call until its user has signed in; `undefined` for one that is too long. */
    async park(call: ParkedCall): Promise<WaitingRecord | undefined> {
      const { contextOf, parkCall } = await load();
      return await parkCall(contextOf(call.connection), call);
    },
    /**
     * Claims a call that has waited for a sign-in, and keeps what becomes of it. Sends nothing if another process was
     * first.
     *
     * @param send makes the call, at most once. Never rejects
     */
    async carryOut(
      stored: StoredCall,
      send: (claimed: StoredCall) => Promise<ClaimedOutcome>,
    ): Promise<void> {
      const { contextOf, sendClaimed } = await load();
      try {
        await sendClaimed(contextOf(stored.call.connection), stored, send);
      } catch (error) {
        if (!McpSessionError.isInstance(error) || error.code !== "NOT_WAITING") throw error;
      }
    },
    /** Gives a call a result that is not the server's, unless another process has. */
    async settle({ call, revision }: StoredCall, result: Record<string, unknown>): Promise<void> {
      const { contextOf, settleCall } = await load();
      await settleCall(contextOf(call.connection), { call, revision }, { result });
    },
    /** Notes that a conversation has the result. @returns whether the call is as it was read */
    async noteDelivered(stored: StoredCall): Promise<boolean> {
      if (stored.call.isDelivered) return true;
      const { calls, delivers } = await load();
      return (await calls.replace(stored, delivers(stored.call))) !== undefined;
    },
  };
}

/**
 * Refuses answers to a call that waits for a sign-in.
 *
 * @param pending gives the sign-in, if it is still to be done
 * @throws {McpSessionError} `NOT_WAITING`, with the page where the sign-in starts
 */
export async function refuseAnswer(
  call: WaitingRecord,
  pending: () => Promise<WaitingAuthorization | undefined>,
): Promise<void> {
  if (call.kind !== "authorization" || !isOpen({ call })) return;
  const { needsSignIn } = await loadWaiting();
  throw needsSignIn(call, (await pending())?.startUrl);
}

/** Whether a call waits or is being answered. */
export function isOpen({
  call: { state },
}: {
  readonly call: Pick<WaitingCall, "state">;
}): boolean {
  return state === "waiting" || state === "answering";
}
