import { type StoreKind, storeKinds, storeUnavailable } from "../durable/store-place.ts";

export const availableStores: readonly StoreKind[] = storeKinds.filter(
  (kind) => storeUnavailable[kind] === undefined,
);

/** The others, with the reason: one line each. */
export const skippedStores: readonly string[] = storeKinds.flatMap((kind) => {
  const reason = storeUnavailable[kind];
  return reason === undefined ? [] : [`${kind}: ${reason}`];
});
