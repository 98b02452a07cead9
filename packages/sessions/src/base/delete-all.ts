import type { SessionStore, StoreBatchWrite } from "@durable-mcp/core";
import { maxBatch } from "@durable-mcp/core/internal";
import { inParallel } from "./in-parallel.ts";

/**
 * Deletes records, many in one request where the store can.
 *
 * @param records those with a `revision` only if nobody has written them since
 * @returns those that are gone
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function deleteAll<
  RECORD extends { readonly key: string; readonly revision?: string },
>(store: SessionStore, records: readonly RECORD[]): Promise<RECORD[]> {
  if (store.batch === undefined || records.length === 1) {
    const gone = await inParallel(records, async (record) => {
      const { ok } = await store.delete(record.key, record.revision);
      return ok ? [record] : [];
    });
    return gone.flat();
  }
  const gone: RECORD[] = [];
  let left = records;
  while (left.length > 0) {
    const some = left.slice(0, maxBatch);
    const writes = some.map(({ key, revision: ifRevision }): StoreBatchWrite => ({
      type: "delete",
      key,
      ifRevision,
    }));
    const answer = await store.batch(writes);
    if (answer.ok) gone.push(...some);
    // One was written meanwhile, and none is gone.
    left = answer.ok ? left.slice(maxBatch) : left.filter((_, index) => index !== answer.index);
  }
  return gone;
}
