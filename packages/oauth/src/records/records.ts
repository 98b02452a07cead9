import {
  type JsonValue,
  type Principal,
  principalParts,
  type SessionStore,
  type StoredValue,
} from "@durable-mcp/core";
import { oauthKeys, textDigest } from "@durable-mcp/core/internal";
import { type ClientRecord, parseClient } from "./client-record.ts";
import {
  type GrantRecord,
  type NoncesRecord,
  parseGrant,
  parseNonces,
  printGrant,
} from "./grant-record.ts";
import { parseSignIn, type SignInRecord } from "./sign-in-record.ts";

/** A record as it was read. `revision` is `null` where there is none. */
export interface Stored<RECORD> {
  readonly key: string;
  readonly owner: string;
  /** `undefined` where nothing is stored that can be read. */
  readonly record: RECORD | undefined;
  readonly revision: string | null;
}

/** The records of sign-ins in a store. */
export type Records = ReturnType<typeof createRecords>;

const pageSize = 1_000;
const app: Principal = { type: "app" };

const ownerOf = (principal: Principal) => JSON.stringify(principalParts(principal));
const asStored = <RECORD>(
  { key, owner }: { readonly key: string; readonly owner: string },
  stored: StoredValue | undefined,
  parse: (value: unknown) => RECORD | undefined,
): Stored<RECORD> => ({
  ...{ key, owner, record: stored && parse(stored.value), revision: stored?.revision ?? null },
});

/** @param store is asked for at each use, for it may need a key that a build has not */
export function createRecords(store: () => SessionStore) {
  const read = async <RECORD>(
    key: string,
    principal: Principal,
    parse: (value: unknown) => RECORD | undefined,
  ) => asStored({ key, owner: ownerOf(principal) }, await store().get(key), parse);

  return {
    grant: async (principal: Principal, resourceId: string) =>
      await read(oauthKeys.of("grant", resourceId, principal), principal, parseGrant),
    signIn: async (principal: Principal, state: string) =>
      await read(
        oauthKeys.of("sign-in", await textDigest(state), principal),
        principal,
        parseSignIn,
      ),
    nonces: async (principal: Principal, resourceId: string) =>
      await read(oauthKeys.of("nonces", resourceId, principal), principal, parseNonces),
    /** Registrations belong to the application. */
    client: async (issuer: string, redirectUrl: string) => {
      const id = await textDigest(JSON.stringify([issuer, redirectUrl]));
      return await read(oauthKeys.of("client", id, app), app, parseClient);
    },
    /** All grants of a principal. */
    async grants(principal: Principal): Promise<Stored<GrantRecord>[]> {
      const owner = ownerOf(principal);
      const found: Stored<GrantRecord>[] = [];
      let cursor: string | undefined;
      do {
        const page = await store().list({
          prefix: oauthKeys.grants,
          owner,
          cursor,
          limit: pageSize,
        });
        // A list may be older than the record, and a store may list a fingerprint in the principal's place.
        found.push(...page.records.map((each) => asStored(each, each, parseGrant)));
        ({ cursor } = page);
      } while (cursor !== undefined);
      return found;
    },
    reread: async (stored: Stored<GrantRecord>): Promise<Stored<GrantRecord>> =>
      asStored(stored, await store().get(stored.key), parseGrant),
    /** Writes a record if it is still as it was read. @returns it, or `undefined` if it is not */
    async replace<RECORD extends GrantRecord | SignInRecord | ClientRecord | NoncesRecord>(
      { key, owner, revision }: Stored<RECORD>,
      record: RECORD,
      expiresAt?: number,
    ): Promise<Stored<RECORD> | undefined> {
      // A record is JSON by construction.
      const printed = "generation" in record ? printGrant(record) : record;
      const value = printed as unknown as JsonValue;
      const answer = await store().put(key, value, revision, { owner, expiresAt });
      return answer.ok ? { key, owner, record, revision: answer.revision } : undefined;
    },
    /** Deletes a record if it is still as it was read. */
    async remove({ key, revision }: Stored<unknown>): Promise<boolean> {
      return revision !== null && (await store().delete(key, revision)).ok;
    },
  };
}
