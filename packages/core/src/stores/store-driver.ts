/** For those who write a store. */
export { createDrivenStore } from "./driven-store.ts";
export { dueStart, isByDue } from "./due-order.ts";
export type {
  StoreBatchStep,
  StoredText,
  StoredTextRecord,
  StoreDriver,
  StorePosition,
  StoreSelected,
  StoreSelection,
  StoreWrite,
} from "./driver.ts";
export { attemptInStore, type StoreAttempt } from "./store-attempt.ts";
export { createStoreListeners, type StoreListeners } from "./store-listeners.ts";
