import type { Principal, SessionStore, StoredValue } from "@durable-mcp/core";
import { parseRecord, recordOwner, recordValue } from "./session-record.ts";

/** Writes a record without the kept tool list, also when others write it at the same time. */
export async function forgetToolList({
  store,
  key,
  stored,
  principal,
  now,
}: {
  store: SessionStore;
  key: string;
  stored: StoredValue;
  principal: Principal;
  now: () => number;
}): Promise<void> {
  const record = parseRecord(stored.value);
  if (record?.snapshot.kind !== "session" || !record.snapshot.toolList) return;
  const { toolList: _, ...snapshot } = record.snapshot;
  const next = recordValue({ ...record, snapshot, savedAt: now() });
  const result = await store.put(key, next, stored.revision, { owner: recordOwner(principal) });
  if (result.ok || result.current === undefined) return;
  await forgetToolList({ store, key, stored: result.current, principal, now });
}
