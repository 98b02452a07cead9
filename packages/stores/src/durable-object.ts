import { checkKnown } from "@durable-mcp/core/internal";
import { createStoreListeners, type StoreListeners } from "@durable-mcp/core/store-driver";
import {
  createSqliteDialectStore,
  dialectKinds,
  maxRowText,
  type SqliteDialectOptions,
  type SqliteDialectStore,
} from "./sqlite/dialect-store.ts";
import type { SqliteStatement } from "./sqlite/statements.ts";

/** The part of a Durable Object's storage that the store needs. */
export interface DurableObjectStorage {
  readonly sql: {
    /** Runs one statement, whose rows can be walked through. */
    exec(sql: string, ...values: unknown[]): Iterable<object>;
  };
  /** Runs a function in one transaction. */
  transactionSync<T>(run: () => T): T;
}

/** Options of `createDurableObjectStore`. */
export interface DurableObjectStoreOptions extends SqliteDialectOptions {
  /** The object's `ctx.storage`. Its class is one of `new_sqlite_classes`. */
  readonly storage: DurableObjectStorage;
}

const kinds = {
  ...dialectKinds,
  storage: { methods: ["transactionSync"], is: "ctx.storage of a Durable Object" },
} as const;

/**
 * A store in the SQLite database of a Durable Object, for the code in that object. No operation is a request.
 * A value may have 1,990,000 bytes. Notices go to the subscribers in the object.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createDurableObjectStore(options: DurableObjectStoreOptions): SqliteDialectStore {
  checkKnown(options, kinds, { required: ["storage"] });
  const { storage } = options;
  const ofSql = {
    storage: { methods: ["exec"], is: "ctx.storage of a Durable Object with SQLite" },
  };
  checkKnown({ storage: storage.sql }, ofSql, { required: ["storage"] });
  const read = (statement: SqliteStatement) =>
    [...storage.sql.exec(...statement)] as Record<string, unknown>[];
  const listeners = listenersOf(storage);
  return createSqliteDialectStore(
    { read, write: (statements) => storage.transactionSync(() => statements.map(read)) },
    options,
    {
      name: "Durable Object",
      timeoutMs: Infinity, // it never waits
      maxBytes: maxRowText,
      publish: listeners.tell,
      subscribe: listeners.add,
    },
  );
}

/** Those who listen in an object, whichever of its stores they have. */
const listenersByStorage = new WeakMap<DurableObjectStorage, StoreListeners>();

function listenersOf(storage: DurableObjectStorage): StoreListeners {
  const listeners =
    listenersByStorage.get(storage) ?? createStoreListeners({ isHearing: () => true });
  listenersByStorage.set(storage, listeners);
  return listeners;
}
