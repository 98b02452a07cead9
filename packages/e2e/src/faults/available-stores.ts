import { type StoreKind, storeKinds, storeUnavailable } from "../durable/store-place.ts";

export const availableStores: readonly StoreKind[] = storeKinds.filter(
  (kind) => storeUnavailable[kind] === undefined,
);

/** What people call them. */
export const storeNames: Readonly<Record<StoreKind | "memory", string>> = {
  memory: "memory",
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  redis: "Redis",
};

/** The others, with the reason: one line each. */
export const skippedStores: readonly string[] = storeKinds.flatMap((kind) => {
  const reason = storeUnavailable[kind];
  return reason === undefined ? [] : [`${storeNames[kind]}: ${reason}`];
});
