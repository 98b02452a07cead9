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
  /** The share of a bounded store that must stay free. @default 0 */
  readonly leaveFree?: number | undefined;
}

/** One write of a batch. */
export type StoreBatchStep =
  | ({ readonly type: "put" } & StoreWrite)
  | {
      readonly type: "delete";
      readonly key: string;
      readonly ifRevision: string | undefined;
    };

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

/** A page of a driver's list. */
export interface StoreSelected {
  readonly records: readonly StoredTextRecord[];
  readonly end?: StorePosition | undefined;
}

type Maybe<T> = T | Promise<T>;

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
  /** The longest text of a value, in bytes of UTF-8. @default only the limit of all stores */
  readonly maxBytes?: number | undefined;
  /** Called for a value that is not JSON. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** Reads a text; `undefined` if there is none, or it has expired at `now`. */
  get(key: string, now: number, signal?: AbortSignal): Maybe<StoredText | undefined>;
  /** Reads many, in the order of their keys. Without it, the store has no `getMany`. */
  getMany?(
    keys: readonly string[],
    now: number,
    signal?: AbortSignal,
  ): Maybe<readonly (StoredText | undefined)[]>;
  /** Whether it was stored. Atomic; `lastUsedAt` becomes `now`, unless it is later already. */
  put(write: StoreWrite, now: number, signal?: AbortSignal): Maybe<boolean>;
  /** Sets `lastUsedAt` to `at`, unless it is later already. An absent value stays absent. */
  touch(key: string, at: number, now: number, signal?: AbortSignal): Maybe<void>;
  /** Whether a value with this revision was stored; without `ifRevision`, `true`. Atomic. */
  delete(
    key: string,
    ifRevision: string | undefined,
    now: number,
    signal?: AbortSignal,
  ): Maybe<boolean>;
  /**
   * In any order that goes on after `end`, which is there only if there is more. It sees all earlier writes, of any
   * process.
   */
  list(selection: StoreSelection, now: number, signal?: AbortSignal): Maybe<StoreSelected>;
  /**
   * Makes all writes, each of another key, or none. Returns the index of the first one whose condition does
   * not hold; `undefined` if all were made. Without it, the store has no `batch`.
   */
  batch?(
    steps: readonly StoreBatchStep[],
    now: number,
    signal?: AbortSignal,
  ): Maybe<number | undefined>;
  /** Without both of `publish` and `subscribe`, the store has neither. */
  publish?(topic: string, signal?: AbortSignal): Maybe<void>;
  /** As `subscribe` of the store; `listener` may be called at any time, and does not throw. */
  subscribe?(topic: string, listener: () => void): () => void;
}
