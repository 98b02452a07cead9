import type { SessionStore } from "../stores/session-store.ts";

/** A store and how to let go of it. */
export interface OpenedStore {
  readonly store: SessionStore;
  /** Closes the connection: from then on every call has to fail. Only a store without one has none. */
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
  /** For keys and owners of this test alone: what they start with, or all of them. */
  readonly unique: string;
}
