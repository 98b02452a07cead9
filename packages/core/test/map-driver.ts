import type { StoreBatchStep, StoreDriver, StoredTextRecord } from "../src/stores/driver.ts";

/** A driver on a map. It has no clock: nothing expires. */
export function createMapDriver(
  maxBytes?: number,
): StoreDriver & Required<Pick<StoreDriver, "batch">> {
  const records = new Map<string, StoredTextRecord>();
  const holds = ({ key, ifRevision }: Pick<StoreBatchStep, "key" | "ifRevision">) =>
    ifRevision === undefined || (records.get(key)?.revision ?? null) === ifRevision;
  const batch = (steps: readonly StoreBatchStep[], now: number) => {
    const conflict = steps.findIndex((step) => !holds(step));
    if (conflict !== -1) return conflict;
    for (const step of steps) {
      if (step.type === "put") records.set(step.key, { ...step, lastUsedAt: now });
      else records.delete(step.key);
    }
    return undefined;
  };
  return {
    name: "map",
    maxBytes,
    get: (key) => records.get(key),
    getMany: (keys) => keys.map((key) => records.get(key)),
    put: (write, now) => batch([{ type: "put", ...write }], now) === undefined,
    touch(key, at) {
      const record = records.get(key);
      if (record && record.lastUsedAt < at) records.set(key, { ...record, lastUsedAt: at });
    },
    delete: (key, ifRevision, now) =>
      batch([{ type: "delete", key, ifRevision }], now) === undefined,
    list: ({ prefix, limit }) => ({
      records: [...records.values()].filter(({ key }) => key.startsWith(prefix)).slice(0, limit),
    }),
    batch,
  };
}

/** As a client that sends each write again, because the first answer was lost. */
export function losingAnswers(driver: ReturnType<typeof createMapDriver>): StoreDriver {
  return {
    ...driver,
    async put(...args) {
      await driver.put(...args);
      return await driver.put(...args);
    },
    async batch(...args) {
      await driver.batch(...args);
      return await driver.batch(...args);
    },
  };
}
