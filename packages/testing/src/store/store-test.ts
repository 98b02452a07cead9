import type { SessionStore } from "@durable-mcp/core";

/** A store and its connection. */
export interface OpenedStore {
  readonly store: SessionStore;
  /**
   * Closes the connection. After that every call has to fail. Only a store without a connection has no
   * `close`.
   */
  readonly close?: (() => Promise<void>) | undefined;
}

/** One test of the suite. */
export interface StoreTest {
  readonly title: string;
  readonly run: (context: StoreTestContext) => Promise<void>;
}

interface StoreTestContext {
  readonly store: SessionStore;
  /** Opens the store once more; it is closed after the test. */
  readonly open: () => Promise<OpenedStore>;
  /** A text for this test alone. Its keys and owners equal it or start with it. */
  readonly unique: string;
}
