import type { SessionStore, StoreBatchAnswer, StoreBatchWrite } from "./session-store.ts";

/**
 * Makes the writes with the store's `batch`. In a store without one it makes them one after the other, and
 * stops at the first conflict: then those before it stay.
 *
 * @throws {McpSessionError} as the store's methods
 */
export async function writeBatch(
  store: SessionStore,
  writes: readonly StoreBatchWrite[],
): Promise<StoreBatchAnswer> {
  if (store.batch) return await store.batch(writes);
  const revisions: (string | undefined)[] = [];
  for (const [index, write] of writes.entries()) {
    const answer = await writeOne(store, write);
    if (!answer.ok) return { ok: false, index, current: answer.current };
    revisions.push(answer.revision);
  }
  return { ok: true, revisions };
}

async function writeOne(store: SessionStore, write: StoreBatchWrite) {
  if (write.type === "delete") {
    const answer = await store.delete(write.key, write.ifRevision);
    return answer.ok ? { ...answer, revision: undefined } : answer;
  }
  const { key, value, ifRevision, owner, expiresAt } = write;
  return await store.put(key, value, ifRevision, { owner, expiresAt });
}
