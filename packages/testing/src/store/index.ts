export type { StoreServer } from "./killed-server-tests.ts";
export type { StoreProcesses } from "./process-tests.ts";
export type { OpenedStore } from "./store-test.ts";
export { testSessionStore, type TestSessionStoreOptions } from "./test-session-store.ts";
