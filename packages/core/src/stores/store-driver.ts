import { checkWhole, invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { randomToken } from "../base/random-token.ts";
import type { JsonValue, SessionStore } from "./session-store.ts";
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
 * its errors become `STORE_FAILED`.
 */
export interface StoreDriver {
  /** For messages: `"SQLite"`. */
  readonly name: string;
  get(key: string, now: number): StoredText | undefined | Promise<StoredText | undefined>;
  /** Whether it was stored. Atomic; `lastUsedAt` becomes `now`, unless it is later already. */
  put(write: StoreWrite, now: number): boolean | Promise<boolean>;
  touch(key: string, at: number, now: number): void | Promise<void>;
  /** Whether a value with this revision was stored; without `ifRevision`, `true`. Atomic. */
  delete(key: string, ifRevision: string | undefined, now: number): boolean | Promise<boolean>;
  /** `end` is there only if there is more. */
  list(selection: StoreSelection, now: number): StoreSelected | Promise<StoreSelected>;
}

/** A page of a driver's list. */
export interface StoreSelected {
  readonly records: readonly StoredTextRecord[];
  readonly end?: StorePosition | undefined;
}

/**
 * Creates a store on a driver. It checks the arguments, prints and parses the JSON, makes the revisions,
 * and turns the driver's errors into `STORE_FAILED`.
 *
 * Its methods reject with `CONNECTION_INVALID` for an argument of another shape, and with `STATE_INVALID`
 * for a value that is not JSON or longer than 1,000,000 characters.
 *
 * @param now the clock, in milliseconds since 1970-01-01 UTC
 */
export function createDrivenStore(driver: StoreDriver, now: () => number = Date.now): SessionStore {
  const attempt = <T>(operation: string, run: (now: number) => T) =>
    attemptInStore(driver.name, operation, () => run(now()));
  const load = async (operation: string, key: string) => {
    const stored = await attempt(operation, (time) => driver.get(key, time));
    return stored && attempt(operation, () => parse(stored));
  };

  return {
    async get(key) {
      checkText("key", key);
      return load("get", key);
    },
    async put(key, value, ifRevision, { owner, expiresAt }) {
      checkText("key", key);
      checkText("owner", owner);
      if (expiresAt !== undefined) checkWhole(expiresAt, "expiresAt", 0);
      if (ifRevision !== null) checkText("ifRevision", ifRevision);
      const text = printValue(value);
      const revision = randomToken();
      const write = { key, text, revision, ifRevision, owner, expiresAt };
      return (await attempt("put", (time) => driver.put(write, time)))
        ? { ok: true, revision }
        : { ok: false, current: await load("put", key) };
    },
    async touch(key, at) {
      checkText("key", key);
      checkWhole(at, "at", 0);
      await attempt("touch", (time) => driver.touch(key, at, time));
    },
    async delete(key, ifRevision) {
      checkText("key", key);
      if (ifRevision !== undefined) checkText("ifRevision", ifRevision);
      return (await attempt("delete", (time) => driver.delete(key, ifRevision, time)))
        ? { ok: true }
        : { ok: false, current: await load("delete", key) };
    },
    async list({ prefix = "", owner, idleSince, cursor, limit }) {
      checkText("prefix", prefix);
      if (owner !== undefined) checkText("owner", owner);
      if (idleSince !== undefined) checkWhole(idleSince, "idleSince", 0);
      checkWhole(limit, "limit", 1, 1_000);
      const after = cursor === undefined ? undefined : parsePosition(cursor);
      return attempt("list", async (time) => {
        const { records, end } = await driver.list(
          { prefix, owner, idleSince, after, limit },
          time,
        );
        const parsed = records.map((record) => {
          const { key, owner: ofWhom, lastUsedAt, expiresAt } = record;
          return { key, ...parse(record), owner: ofWhom, lastUsedAt, expiresAt };
        });
        return { records: parsed, cursor: end && JSON.stringify(end) };
      });
    },
  };
}

/**
 * Runs one operation of a store.
 *
 * @throws {McpSessionError} `STORE_FAILED` with the error of `run` as its cause, unless that error is an
 *   `McpSessionError` already
 */
export async function attemptInStore<T>(
  store: string,
  operation: string,
  run: () => T,
): Promise<Awaited<T>> {
  try {
    return await run();
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    const code = String((cause as { code?: unknown } | null)?.code);
    const reason = /^[A-Z\d_]{3,40}$/.test(code) ? ` (${code})` : "";
    throw new McpSessionError(
      "STORE_FAILED",
      `The ${store} store failed at ${operation}${reason}. It may have been done or not: read before you try again.`,
      { cause },
    );
  }
}

function parse({ text, revision }: StoredText) {
  return { value: JSON.parse(text) as JsonValue, revision };
}

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
