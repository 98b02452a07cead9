import type { SessionStore, StoreListQuery, StoredRecord } from "@durable-mcp/core";

/** As many as a store lists at a time. */
const pageSize = 1_000;

/** All records that match: names are the application's, and there may be more than a page of them. */
export async function listAll(
  store: SessionStore,
  query: Omit<StoreListQuery, "cursor" | "limit">,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, cursor, limit: pageSize });
    records.push(...page.records);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return records;
}
