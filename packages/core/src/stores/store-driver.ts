import {
  checkedClock,
  checkFunction,
  checkMs,
  checkWhole,
  invalidOption,
} from "../base/check-option.ts";
import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { guarded, warnOnce } from "../base/observe.ts";
import { randomToken } from "../base/random-token.ts";
import type { JsonValue, SessionStore, StoredValue } from "./session-store.ts";
import { storeFailure } from "./store-failure.ts";
import { isStoreText, maxTextLength, printValue } from "./store-limits.ts";

/** A value in the form that a driver keeps. */
export interface StoredText {
  /** The value as JSON, 1,000,000 characters at most, perhaps with characters outside of ASCII. */
  readonly text: string;
  readonly revision: string;
}

/** A record in a driver's list. Times are milliseconds since 1970-01-01 UTC. */
export interface StoredTextRecord extends StoredText {
  readonly key: string;
  readonly owner: string;
  readonly lastUsedAt: number;
  readonly expiresAt: number | undefined;
}

/** One `put`. It succeeds if the stored revision is `ifRevision`; `null` means that nothing is stored. */
export interface StoreWrite extends StoredText {
  readonly key: string;
  readonly ifRevision: string | null;
  readonly owner: string;
  readonly expiresAt: number | undefined;
}

/** The end of a page: two values that only the driver understands. */
export type StorePosition = readonly [number: number, text: string];

/** One `list`, checked. */
export interface StoreSelection {
  readonly prefix: string;
  readonly owner: string | undefined;
  readonly idleSince: number | undefined;
  readonly after: StorePosition | undefined;
  readonly limit: number;
}

/**
 * The part of a store that depends on its database. It gets checked arguments (texts of at most 1,000
 * characters without lone surrogates, whole times). Records that have expired at `now` are absent. All
 * its errors become `STORE_FAILED`. `signal` aborts when the time is up: what was not sent by then never
 * goes out.
 */
export interface StoreDriver {
  /** For messages: `"SQLite"`. */
  readonly name: string;
  /** How long one operation of the store may take, in milliseconds; `Infinity`: any time. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Called for a value that is not JSON. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  get(key: string, now: number, signal?: AbortSignal): Maybe<StoredText | undefined>;
  /** Whether it was stored. Atomic; `lastUsedAt` becomes `now`, unless it is later already. */
  put(write: StoreWrite, now: number, signal?: AbortSignal): Maybe<boolean>;
  touch(key: string, at: number, now: number, signal?: AbortSignal): Maybe<void>;
  /** Whether a value with this revision was stored; without `ifRevision`, `true`. Atomic. */
  delete(
    key: string,
    ifRevision: string | undefined,
    now: number,
    signal?: AbortSignal,
  ): Maybe<boolean>;
  /** `end` is there only if there is more. */
  list(selection: StoreSelection, now: number, signal?: AbortSignal): Maybe<StoreSelected>;
}

type Maybe<T> = T | Promise<T>;

/** A page of a driver's list. */
export interface StoreSelected {
  readonly records: readonly StoredTextRecord[];
  readonly end?: StorePosition | undefined;
}

/**
 * Creates a store on a driver. It checks the arguments, prints and parses the JSON, makes the revisions,
 * limits the time, and turns the driver's errors into `STORE_FAILED`. A value that is not JSON, of
 * another program for example, reads as `null` with its revision, so it can be replaced.
 *
 * Its methods reject with `CONNECTION_INVALID` for an argument of another shape, and with `STATE_INVALID`
 * for a value that is not JSON or longer than 1,000,000 characters.
 *
 * @param now the clock, in milliseconds since 1970-01-01 UTC
 * @throws {McpSessionError} `CONNECTION_INVALID` for a `now`, `timeoutMs` or `onUnreadable` that is none
 */
export function createDrivenStore(driver: StoreDriver, now: () => number = Date.now): SessionStore {
  const { name, timeoutMs = 10_000 } = driver;
  if (timeoutMs !== Infinity) checkMs(timeoutMs, "timeoutMs");
  checkFunction(driver.onUnreadable, "onUnreadable");
  const clock = checkedClock(now);
  const parse = createParser(driver);
  const attempt = <T>(
    operation: string,
    run: (attempt: StoreAttempt, time: number) => Promise<T>,
  ): Promise<T> =>
    attemptInStore(name, operation, (each) => run(each, clock()), timeoutMs) as Promise<T>;
  /** The stored value, after a write that the store did not do. */
  const conflict = async (key: string, time: number, { signal, isRead }: StoreAttempt) => {
    isRead();
    const stored = await driver.get(key, time, signal);
    return { ok: false, current: stored && parse(stored) } as const;
  };

  return {
    async get(key) {
      checkText("key", key);
      return await attempt("get", async ({ signal }, time) => {
        const stored = await driver.get(key, time, signal);
        return stored && parse(stored);
      });
    },
    async put(key, value, ifRevision, { owner, expiresAt }) {
      checkText("key", key);
      checkText("owner", owner);
      if (expiresAt !== undefined) checkWhole(expiresAt, "expiresAt", 0);
      if (ifRevision !== null) checkText("ifRevision", ifRevision);
      const text = printValue(value);
      const revision = randomToken();
      const write = { key, text, revision, ifRevision, owner, expiresAt };
      return await attempt("put", async (each, time) => {
        if (await driver.put(write, time, each.signal)) return { ok: true, revision };
        return await conflict(key, time, each);
      });
    },
    async touch(key, at) {
      checkText("key", key);
      checkWhole(at, "at", 0);
      await attempt("touch", async ({ signal }, time) => driver.touch(key, at, time, signal));
    },
    async delete(key, ifRevision) {
      checkText("key", key);
      if (ifRevision !== undefined) checkText("ifRevision", ifRevision);
      return await attempt("delete", async (each, time) => {
        if (await driver.delete(key, ifRevision, time, each.signal)) return { ok: true };
        return await conflict(key, time, each);
      });
    },
    async list({ prefix = "", owner, idleSince, cursor, limit }) {
      checkText("prefix", prefix);
      if (owner !== undefined) checkText("owner", owner);
      if (idleSince !== undefined) checkWhole(idleSince, "idleSince", 0);
      checkWhole(limit, "limit", 1, 1_000);
      const after = cursor === undefined ? undefined : parsePosition(cursor);
      const selection = { prefix, owner, idleSince, after, limit };
      return await attempt("list", async ({ signal }, time) => {
        const { records, end } = await driver.list(selection, time, signal);
        const parsed = records.map((record) => {
          const { key, owner: ofWhom, lastUsedAt, expiresAt } = record;
          return { key, ...parse(record), owner: ofWhom, lastUsedAt, expiresAt };
        });
        return { records: parsed, cursor: end && JSON.stringify(end) };
      });
    },
  };
}

/** A function that reads what a driver has stored. Another program may have written it. */
function createParser({ name, onUnreadable }: StoreDriver) {
  const tellUnreadable = guarded(
    onUnreadable ??
      warnOnce(
        () =>
          `The ${name} store has a value that is not JSON. It counts as none, and the next save replaces it.`,
      ),
  );
  return ({ text, revision }: StoredText): StoredValue => {
    try {
      return { value: JSON.parse(text) as JsonValue, revision };
    } catch {
      tellUnreadable();
      return { value: null, revision };
    }
  };
}

/** One operation, while it is tried. */
interface StoreAttempt {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal | undefined;
  /** Says that a write was not done, and that the rest of the operation only reads. */
  readonly isRead: () => void;
}

/**
 * Runs one operation of a store. If `get` or `list` fails, the message says that nothing was changed.
 *
 * @param timeoutMs in milliseconds; after that it rejects, although the operation may still be done
 * @throws {McpSessionError} `STORE_FAILED` with the error of `run` as its cause, unless that error is an
 *   `McpSessionError` already
 */
export async function attemptInStore<T>(
  store: string,
  operation: string,
  run: (attempt: StoreAttempt) => T,
  timeoutMs = Infinity,
): Promise<Awaited<T>> {
  let onlyReads = operation === "get" || operation === "list";
  const isRead = () => {
    onlyReads = true;
  };
  try {
    if (timeoutMs === Infinity) return await run({ signal: undefined, isRead });
    return await timeLimited(timeoutMs, undefined, async (signal) => {
      const work = async () => await run({ signal, isRead });
      return await abortable(work(), signal);
    });
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    throw storeFailure(store, operation, cause, onlyReads);
  }
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a clock that is none, now or when it is read */
function parsePosition(cursor: string): StorePosition {
  try {
    const [number, text, ...others] = JSON.parse(cursor);
    checkWhole(number, "cursor", 0);
    checkText("cursor", text);
    if (others.length === 0) return [number, text];
  } catch {
    // It may come from outside, by way of a link, so the error does not tell what is wrong with it.
  }
  throw invalidOption("cursor", "must be the cursor of the page before");
}

function checkText(field: string, text: unknown): void {
  if (isStoreText(text)) return;
  throw invalidOption(field, `must be well-formed text of at most ${maxTextLength} characters`);
}
