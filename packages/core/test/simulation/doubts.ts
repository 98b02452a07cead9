import type { Delivery, SlotModel, WireRequest } from "./invariant-model.ts";

/** A new session beside one in doubt. */
export interface Beside {
  readonly inDoubt: string;
  /** Both attempts of an `initialize` have it. */
  readonly signal: AbortSignal | undefined;
  opened?: string;
  /** Of the last ping, if its connection broke: it may go out once more. */
  pingSignal?: AbortSignal | undefined;
}

const refusals: readonly Delivery[] = ["outage", "doubt", "definite-loss", "probable-loss"];

/** A ping of core's own. Those of clients have a nonce. */
export const isOwnPing = ({ message }: WireRequest): boolean =>
  message?.method === "ping" && message.params === undefined;

/**
 * The rule of doubt: a session that refuses goes only if it refuses a ping, the server opens another, and it refuses a
 * last ping. Without an answer, or with a loss that is met meanwhile, nothing is asked any more.
 */
export function createDoubts(count: (name: string) => void) {
  return {
    /** @returns whether `initialize` may go out although a session is in use */
    mayOpenBeside(slot: SlotModel, { signal }: WireRequest): boolean {
      const { current, refusedPing, beside } = slot;
      if (current === undefined) return false;
      if (beside?.inDoubt === current && beside.signal === signal) return true;
      if (refusedPing !== current) return false;
      slot.refusedPing = undefined;
      slot.beside = { inDoubt: current, signal };
      return true;
    },
    /** @returns whether it was the answer to an `initialize` beside a session in doubt */
    opened(slot: SlotModel, { signal }: WireRequest, openedId: string): boolean {
      const { beside } = slot;
      if (beside === undefined || beside.signal !== signal) return false;
      beside.opened = openedId;
      return true;
    },
    pinged(slot: SlotModel, { sessionId, signal }: WireRequest, delivery: Delivery): void {
      // Whoever asked has left, or asks anew.
      const { signal: own, pingSignal = signal } = slot.beside ?? {};
      if (own?.aborted || pingSignal !== signal) {
        if (!own?.aborted) slot.spare = slot.beside?.opened;
        slot.beside = undefined;
      }
      const { beside } = slot;
      const isRefused = refusals.includes(delivery) && !signal?.aborted;
      if (beside?.opened !== undefined && beside.inDoubt === sessionId) {
        if (delivery === "failed" && beside.pingSignal === undefined) {
          beside.pingSignal = signal;
          return;
        }
        count(isRefused ? "doubt: session given up" : "doubt: session kept");
        slot.beside = undefined;
        // Otherwise the loss may have been met in between, or another successor be named.
        const isSuccessor = isRefused && !slot.lost.has(sessionId) && slot.named.size === 0;
        if (isRefused) slot.lost.add(sessionId);
        if (!isSuccessor) slot.spare = beside.opened;
        else if (slot.onLoss !== "report") slot.opened = beside.opened;
      } else slot.refusedPing = isRefused ? sessionId : undefined;
    },
    /** @returns whether the session was opened beside one that is lost by now, and has not been acknowledged */
    isSpare(slot: SlotModel, sessionId: string | undefined): boolean {
      const { beside, spare } = slot;
      const { opened = spare, inDoubt = slot.current } = beside ?? {};
      const isLost = inDoubt === undefined || slot.lost.has(inDoubt);
      return sessionId !== undefined && opened === sessionId && isLost;
    },
  };
}
