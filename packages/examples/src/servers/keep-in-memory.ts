import type { AdapterFactory, AdapterPayload } from "oidc-provider";

/** What an authorization server keeps, as long as its process lives. */
export function keepInMemory(): AdapterFactory {
  const models = new Map<string, Map<string, AdapterPayload>>();
  return (model) => {
    const records = models.get(model) ?? new Map<string, AdapterPayload>();
    models.set(model, records);
    const findBy = async (name: "uid" | "userCode", value: string) =>
      [...records.values()].find((record) => record[name] === value);
    return {
      upsert: async (id, record) => void records.set(id, record),
      find: async (id) => records.get(id),
      findByUid: (uid) => findBy("uid", uid),
      findByUserCode: (userCode) => findBy("userCode", userCode),
      async consume(id) {
        const record = records.get(id);
        if (record) records.set(id, { ...record, consumed: Math.floor(Date.now() / 1000) });
      },
      destroy: async (id) => void records.delete(id),
      async revokeByGrantId(grantId) {
        for (const [id, record] of records) if (record.grantId === grantId) records.delete(id);
      },
    };
  };
}
