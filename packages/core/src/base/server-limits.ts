/**
 * What is taken of what a server chooses, checked where a message is read. Each limit says what happens beyond it.
 * Others are where one file alone needs them: the ids of sessions and the JSON of snapshots in `snapshot-shape.ts`,
 * calls that wait in `waiting-life.ts`, lines of programs in ai-sdk's `server-message.ts`.
 */
export const serverLimits = {
  /** A pause, in milliseconds (1 day). A longer one is cut. */
  pauseMs: 86_400_000,
  /** How long a result is kept, in milliseconds (1,000 days). A longer time is cut. */
  keptMs: 86_400_000_000,
  /** A shorter pause between two looks at a task becomes this one, in milliseconds. */
  leastPauseMs: 100,
  /** After a longer pause, in milliseconds, a request that was refused for now is not sent again in its step. */
  retryAfterMs: 60_000,
  /** A task's status, in characters. It is cut. */
  status: 100,
  /** A message for people, in characters. It is cut. */
  message: 1_000,
  /** A list ends after so many pages, or at a cursor that comes again. `list-cut` tells. */
  pages: 100,
  /** JavaScript cannot print a few thousand levels. What became of a call is unknown if a look finds more. */
  levels: 1_000,
  /** A larger message is none, in bytes (64 MiB): the outcome is unknown. */
  messageBytes: 67_108_864,
  /** Of a refusal no more is read, in bytes, and for no longer, in milliseconds. */
  refusal: { bytes: 1_048_576, ms: 5_000 },
  /** Questions that are open in a session, and subscriptions. The oldest is dropped, a further one is not kept. */
  questions: 1_000,
  subscriptions: 1_000,
  /** The answer of an authorization server, in bytes (1 MiB). A larger one is none. */
  authorizationBytes: 1_048_576,
  /** The lifetime of a token, in seconds. A longer one counts as not given. */
  tokenSeconds: 1_000_000_000,
  /** Scopes of a sign-in, and their length together, in characters. What is too much is left out. */
  scopes: { count: 100, length: 4_096 },
};

/**
 * Latin-1 without control characters, and 1,024 at most. HTTP would drop white space at the ends, and servers refuse
 * long headers.
 */
const carriable = /^(?! )[\x20-\x7E\xA0-\xFF]{1,1024}(?<! )$/;

/** Whether a record can keep the id of a task or an event, and a header carry it. No call goes on with another. */
export function isUsableId(id: string): boolean {
  return carriable.test(id);
}

/** A pause of a server, in whole milliseconds; `undefined` for what is none. */
export function pauseOf(value: unknown): number | undefined {
  if (typeof value !== "number" || Number.isNaN(value) || value < 0) return undefined;
  return Math.ceil(Math.min(value, serverLimits.pauseMs));
}

/** Whether a value of JSON has more levels than are taken. Needs no stack. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > serverLimits.levels) return true;
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? Object.values(item) : [],
    );
  }
  return false;
}
