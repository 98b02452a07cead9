/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The value of a key, and its revision. */
export interface StoredValue {
  /** Parsed when it is first read. */
  readonly value: JsonValue;
  /** Opaque. Every `put` changes it, and a key never has the same revision twice. `touch` keeps it. */
  readonly revision: string;
}

/** A stored value as `list` returns it. Times are milliseconds since 1970-01-01 UTC. */
export interface StoredRecord extends StoredValue {
  readonly key: string;
  readonly owner: string;
  /** When it was last put or touched. */
  readonly lastUsedAt: number;
  readonly expiresAt?: number | undefined;
}

/** `current` is the stored value; `undefined` if there is none. */
export type StoreConflict = { readonly ok: false; readonly current: StoredValue | undefined };

/** Options of `put`, stored with the value. */
export interface StorePutOptions {
  /** The value's owner, for `list`; opaque to the store. */
  readonly owner: string;
  /** From this time on the value counts as absent, in milliseconds since 1970-01-01 UTC. @default never */
  readonly expiresAt?: number | undefined;
  /**
   * The share of a bounded store, from 0 to 1, that must stay free after this write. With less it fails
   * with `STORE_FAILED`, and nothing is written. Stores without a bound of their own ignore it. @default 0
   */
  readonly leaveFree?: number | undefined;
  /** The time of the write, as that of a `touch`. @default the store's clock */
  readonly at?: number | undefined;
}

/** One write of a `batch`: a `put` or a `delete`, with the same meaning as alone. */
export type StoreBatchWrite =
  | {
      readonly type: "put";
      readonly key: string;
      readonly value: JsonValue;
      readonly ifRevision: string | null;
      readonly owner: string;
      readonly expiresAt?: number | undefined;
    }
  | {
      readonly type: "delete";
      readonly key: string;
      readonly ifRevision?: string | undefined;
    };

/**
 * `revisions` are the puts' new ones, by their index. `index` names the first write whose condition does not
 * hold, and `current` is the stored value of its key; `undefined` if there is none.
 */
export type StoreBatchAnswer =
  | { readonly ok: true; readonly revisions: readonly (string | undefined)[] }
  | {
      readonly ok: false;
      readonly index: number;
      readonly current: StoredValue | undefined;
    };

/** Selects and pages the records of `list`. */
export interface StoreListQuery {
  /** Only keys that start with this. @default all */
  readonly prefix?: string | undefined;
  /** Only values of this owner. @default all */
  readonly owner?: string | undefined;
  /** Only values last used at this time or before, in milliseconds since 1970-01-01 UTC. @default all */
  readonly idleSince?: number | undefined;
  /** The `cursor` of the page before. @default from the start */
  readonly cursor?: string | undefined;
  /** How many at most, 1 to 1000. */
  readonly limit: number;
}

/** A page of `list`. */
export interface StorePage {
  readonly records: readonly StoredRecord[];
  /** For the next page; `undefined` on the last page. */
  readonly cursor?: string | undefined;
}

/**
 * Keeps sessions, with compare-and-set on one record. A conflict is an answer, not an exception. Every
 * method settles in bounded time. It rejects with `STORE_FAILED` if the store cannot be reached or the
 * operation failed; a write may then have been carried out or not. Expired values are absent. A stored
 * value that cannot be read, such as another program's, is `null` with its revision.
 *
 * Keys, owners and prefixes are well-formed text of at most 1,000 characters and may be empty. Times and
 * limits are whole numbers. All other arguments are refused with `CONNECTION_INVALID`. A value whose JSON
 * has more than 1,000,000 characters is refused with `STATE_INVALID`.
 *
 * A store may lack `getMany`, `batch`, and `publish` and `subscribe`, which come together.
 *
 * `testSessionStore` of `@durable-mcp/testing/store` is the suite that every store passes.
 */
export interface SessionStore {
  /**
   * Whether the stored values are encrypted, as by `encryptStore`. @default false
   */
  readonly encrypted?: true | undefined;
  /**
   * The longest JSON of a value, in bytes of UTF-8, where the database takes less than 1,000,000 characters. A longer
   * one is refused with `STATE_INVALID`. @default none
   */
  readonly maxBytes?: number | undefined;
  /** Reads a value; `undefined` if there is none, or it has expired. */
  get(key: string): Promise<StoredValue | undefined>;
  /** Reads 1 to 1000 values at once, in the order of their keys. */
  getMany?(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]>;
  /** Stores `value` if the stored revision is `ifRevision`; `null` means that nothing is stored. */
  put(
    key: string,
    value: JsonValue,
    ifRevision: string | null,
    options: StorePutOptions,
  ): Promise<{ readonly ok: true; readonly revision: string } | StoreConflict>;
  /** Sets the time of last use, unless the stored time is later. Does nothing without a value. */
  touch(key: string, at: number): Promise<void>;
  /** Deletes a value. Without `ifRevision` any revision goes, and an absent value counts as deleted. */
  delete(key: string, ifRevision?: string): Promise<{ readonly ok: true } | StoreConflict>;
  /**
   * Lists the matching records, in the store's own order, with all writes that have ended before. A record that exists
   * throughout comes exactly once over all pages. With `idleSince`, a record that is used meanwhile and still matches
   * may come a second time.
   */
  list(query: StoreListQuery): Promise<StorePage>;
  /** Makes all of 1 to 250 writes, each of another key, or none of them. */
  batch?(writes: readonly StoreBatchWrite[]): Promise<StoreBatchAnswer>;
  /** Tells the subscribers of a topic, in every process that uses the store. A topic is a text like a key. */
  publish?(topic: string): Promise<void>;
  /**
   * Calls `listener` soon after each `publish` of the topic, by this or another process, and perhaps more
   * often: also when the subscription begins, and after every gap in which a call may have been missed. So
   * a listener that reads again at each call misses nothing. While nothing is published, nothing is read.
   * The listener handles its own errors.
   *
   * @returns ends the subscription; there are no calls after that
   */
  subscribe?(topic: string, listener: () => void): () => void;
}
