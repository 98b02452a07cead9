import type { StoredValue } from "@durable-mcp/core";
import type { SessionRow, CallRow } from "./look.ts";
import type { OpenedStore } from "./open-store.ts";

/** Reads a row's record again, as it is now; `undefined` if another process has removed it. */
export async function reread(
  { store, missing }: OpenedStore,
  { stored: { key } }: SessionRow | CallRow,
): Promise<StoredValue | undefined> {
  const found = await store.get(key);
  if (found !== undefined) return found;
  const failure = missing();
  if (failure !== undefined) throw failure;
  return undefined;
}
