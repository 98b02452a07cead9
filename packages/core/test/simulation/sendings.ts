import type { Delivery, Invariant, WireRequest } from "./invariant-model.ts";

/** What may go out once more, because a gateway has no answer, or the answer did not arrive whole. */
const repeatable: readonly Delivery[] = ["failed", "outage", "cut"];

/**
 * Follows the first requests of a step, which core sends once more. Each sending has a signal of its own, and its
 * second attempt has the same one.
 */
export function createSendings(
  count: (name: string) => void,
  violate: (invariant: Invariant, message: string) => void,
) {
  const sendings = new WeakMap<AbortSignal, { attempts: number; last?: Delivery }>();
  return {
    sent({ slot, message, signal }: WireRequest): void {
      if (signal === undefined) return;
      const sending = sendings.get(signal);
      if (sending === undefined) return void sendings.set(signal, { attempts: 1 });
      sending.attempts += 1;
      const mayRepeat = sending.attempts === 2 && repeatable.includes(sending.last ?? "ok");
      if (mayRepeat) return count("first request sent again");
      const times = `${sending.attempts} times, the last after ${sending.last ?? "no answer"}`;
      violate("one-initialize", `${slot} sent ${message.method} ${times}`);
    },
    /** @returns whether it was the first attempt, and another may follow */
    delivered({ signal }: WireRequest, delivery: Delivery): boolean {
      const sending = signal && sendings.get(signal);
      if (sending === undefined) return false;
      sending.last = delivery;
      return sending.attempts === 1 && repeatable.includes(delivery);
    },
  };
}
