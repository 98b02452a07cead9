/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** What a store holds under a key, and the revision to name when it is replaced. */
export interface StoredValue {
  readonly value: JsonValue;
  /** Opaque; another after every `put`, and never one that the key had before. `touch` keeps it. */
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

/** `current` is what is stored instead; `undefined` when nothing is. */
export type StoreConflict = { readonly ok: false; readonly current: StoredValue | undefined };

export interface StorePutOptions {
  /** Whose the value is, for `list`; opaque to the store. */
  readonly owner: string;
  /** From when on the value counts as absent, in milliseconds since 1970-01-01 UTC. @default never */
  readonly expiresAt?: number | undefined;
}

export interface StoreListQuery {
  /** Only keys that start with this. @default all */
  readonly prefix?: string | undefined;
  /** Only values of this owner. @default all */
  readonly owner?: string | undefined;
  /** Only values last used at this time or before, in milliseconds since 1970-01-01 UTC. */
  readonly idleSince?: number | undefined;
  /** Where the page before ended, as it said. @default from the start */
  readonly cursor?: string | undefined;
  /** How many at most, 1 to 1000. */
  readonly limit: number;
}

export interface StorePage {
  readonly records: readonly StoredRecord[];
  /** For the next page; `undefined` on the last. */
  readonly cursor?: string | undefined;
}

/**
 * Where sessions are kept: compare-and-set on one record. A conflict is an answer, not an
 * exception. Every method settles in bounded time, and rejects with `STORE_FAILED` when the store cannot be reached or did not
 * do what it was asked; it then may or may not have been done. Values that have expired are absent.
 *
 * Keys, owners and prefixes are well-formed text of at most 1,000 characters, the empty one included;
 * times and limits are whole numbers: everything else is refused with `CONNECTION_INVALID`. A value
 * whose JSON has more than 1,000,000 characters is refused with `STATE_INVALID`.
 *
 * `testSessionStore` of `@durable-mcp/core/testing` is the suite that every store passes.
 */
export interface SessionStore {
  get(key: string): Promise<StoredValue | undefined>;
  /** Stores `value` if the stored revision is `ifRevision`; `null` means that nothing is stored. */
  put(
    key: string,
    value: JsonValue,
    ifRevision: string | null,
    options: StorePutOptions,
  ): Promise<{ readonly ok: true; readonly revision: string } | StoreConflict>;
  /** Sets when a value was last used, unless that is later already. Does nothing without a value. */
  touch(key: string, at: number): Promise<void>;
  /** Without `ifRevision` whatever is stored; what is not there counts as deleted then. */
  delete(key: string, ifRevision?: string): Promise<{ readonly ok: true } | StoreConflict>;
  /**
   * The records that match, each exactly once over all pages if it was there throughout, in an
   * order of the store's own. With `idleSince`, one that is used meanwhile and still matches may
   * come a second time.
   */
  list(query: StoreListQuery): Promise<StorePage>;
}
