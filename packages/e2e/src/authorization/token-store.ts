import type { Adapter, AdapterFactory, AdapterPayload } from "oidc-provider";

/** What an authorization server remembers, without the limit of `oidc-provider`'s own memory. */
export interface TokenStore {
  readonly adapter: AdapterFactory;
  /** Ends the access tokens that are not JWTs. */
  expireAccessTokens: () => void;
  /** Ends grants and their tokens; returns how many grants. */
  revokeGrants: (account?: string) => number;
}

/** @param isForgiving whether it does not remember which refresh tokens were used */
export function createTokenStore({ isForgiving }: { readonly isForgiving: boolean }): TokenStore {
  const models = new Map<string, Map<string, AdapterPayload>>();
  const recordsOf = (model: string) => {
    const records = models.get(model) ?? new Map<string, AdapterPayload>();
    models.set(model, records);
    return records;
  };
  const removeGrant = (grantId: string) => {
    for (const records of models.values()) {
      for (const [id, record] of records) if (record.grantId === grantId) records.delete(id);
    }
  };
  return {
    adapter: (model) => {
      const adapter = createAdapter(recordsOf(model), removeGrant);
      const isReusable = isForgiving && model === "RefreshToken";
      return isReusable ? { ...adapter, consume: async () => undefined } : adapter;
    },
    expireAccessTokens: () => recordsOf("AccessToken").clear(),
    revokeGrants: (account) => {
      const grants = [...recordsOf("Grant")].filter(
        ([, { accountId }]) => account === undefined || accountId === account,
      );
      for (const [id] of grants) {
        removeGrant(id);
        recordsOf("Grant").delete(id);
      }
      return grants.length;
    },
  };
}

function createAdapter(
  records: Map<string, AdapterPayload>,
  removeGrant: (grantId: string) => void,
): Adapter {
  const findBy = async (name: "uid" | "userCode", value: string) =>
    [...records.values()].find((record) => record[name] === value);
  return {
    upsert: async (id, record) => void records.set(id, record),
    find: async (id) => records.get(id),
    findByUid: (uid) => findBy("uid", uid),
    findByUserCode: (userCode) => findBy("userCode", userCode),
    consume: async (id) => {
      const record = records.get(id);
      if (record) records.set(id, { ...record, consumed: Math.floor(Date.now() / 1000) });
    },
    destroy: async (id) => void records.delete(id),
    revokeByGrantId: async (grantId) => removeGrant(grantId),
  };
}
