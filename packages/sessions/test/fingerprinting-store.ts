import { createHash } from "node:crypto";
import type { SessionStore } from "@durable-mcp/core";

const fingerprint = (text: string) => createHash("sha256").update(text).digest("hex");

const hiddenKey = (key: string) => {
  if (!key.startsWith("[")) return key;
  const [agent, sessionId, connection, ...principal] = JSON.parse(key) as unknown[];
  return JSON.stringify([agent, sessionId, connection, fingerprint(JSON.stringify(principal))]);
};

/** A store that keeps a fingerprint of the principal in its place, as one that encrypts does. */
export function createFingerprintingStore(store: SessionStore): SessionStore {
  return {
    get: (key) => store.get(hiddenKey(key)),
    put: (key, value, ifRevision, { owner, ...options }) =>
      store.put(hiddenKey(key), value, ifRevision, { ...options, owner: fingerprint(owner) }),
    touch: (key, at) => store.touch(hiddenKey(key), at),
    delete: (key, ifRevision) => store.delete(hiddenKey(key), ifRevision),
    list: ({ owner, ...query }) =>
      store.list({ ...query, ...(owner !== undefined && { owner: fingerprint(owner) }) }),
    ...(store.batch && {
      batch: (writes) =>
        store.batch!(
          writes.map((write) => ({
            ...write,
            key: hiddenKey(write.key),
            ...("owner" in write && { owner: fingerprint(write.owner) }),
          })),
        ),
    }),
    ...(store.publish && { publish: (topic) => store.publish!(topic) }),
    ...(store.subscribe && {
      subscribe: (topic, listener) => store.subscribe!(topic, listener),
    }),
  };
}
