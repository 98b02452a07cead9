/** What a step waits for. */
export type Phase = "open" | "call" | "end";

/** The times that the programs here set, in milliseconds: short ones, for rounds that are quick. */
export interface Times {
  /** `timeouts.connectMs` of the connection. */
  readonly connectMs: number;
  /** `timeouts.answerMs` of the connection. */
  readonly answerMs: number;
  /** `timeouts.callMs` of the connection; without it the default. */
  readonly callMs?: number;
  /** `storeTimeoutMs` of the sessions; the store's own limit is a little shorter. */
  readonly storeMs: number;
  /** `closeTimeoutMs` of the sessions, and of a provider. */
  readonly closeMs: number;
}

export const shortTimes: Times = {
  connectMs: 2_500,
  answerMs: 1_500,
  storeMs: 1_000,
  closeMs: 2_000,
};

/** `timeoutMs` of a store, `busyTimeoutMs` of SQLite: their errors say more than that of `storeTimeoutMs`. */
export const ownStoreMs = shortTimes.storeMs - 200;

/** The longest waits that docs/reports/reliability.md promises, in milliseconds. */
export function documentedWaits({ connectMs, answerMs, callMs, storeMs, closeMs }: Times): Waits {
  return {
    // The record is read and marked as used, the handshake is made, the session is saved, and the tools are listed.
    open: 3 * storeMs + 2 * connectMs,
    call: callMs ?? answerMs,
    end: closeMs,
  };
}

/** The same, where a call finds its session lost: it is refused, a new one is made, and it is sent again. */
export function waitsAfterLoss(times: Times): Waits {
  const { connectMs, answerMs, storeMs } = times;
  return { ...documentedWaits(times), call: 2 * answerMs + 2 * connectMs + storeMs };
}

export type Waits = Readonly<Record<Phase, number>>;

/** The machine's own time: a wait is measured where other rounds run, and a timer that is late is set once more. */
export const allowanceMs = 500;

export interface Wait {
  readonly phase: Phase;
  readonly ms: number;
  readonly limitMs: number;
}

/** Of two waits the one that comes nearer to its limit. */
export function nearerToLimit(a: Wait | undefined, b: Wait | undefined): Wait | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.ms / a.limitMs >= b.ms / b.limitMs ? a : b;
}
