import type { Principal, StoredRecord } from "@durable-mcp/core";
import { oauthKey, parseOAuthKey } from "@durable-mcp/core/internal";
import { inParallel } from "../base/in-parallel.ts";
import { clientConnections } from "../connection/mcp-connection.ts";
import type { SessionsContext } from "./sessions-context.ts";

/** A record of a user's sign-in from a store's list, and the name in its key. */
export interface ListedGrant extends StoredRecord {
  readonly of: NonNullable<ReturnType<typeof parseOAuthKey>>;
}

/** The record of a sign-in that a record is. The registration of a client serves all users, so it is none. */
export function asGrant(record: StoredRecord): ListedGrant[] {
  const of = parseOAuthKey(record.key);
  return of === undefined || of.kind === "client" ? [] : [{ ...record, of }];
}

/**
 * Has each `auth` of the declared connections forget a principal, and deletes what is left of sign-ins in the
 * store. One that fails keeps none of the others from it.
 */
export async function forgetGrants(
  { provider, store }: SessionsContext,
  grants: readonly ListedGrant[],
  principal: Principal,
): Promise<void> {
  const declared = Object.values(clientConnections(provider.declaredFor(principal)));
  const sources = declared.flatMap(({ options: { auth } }) =>
    typeof auth === "object" ? [auth] : [],
  );
  const found = await inParallel(grants, async ({ of }) => {
    // Not the listed key: a store may list a fingerprint instead of the principal.
    const key = oauthKey(of.kind, of.id, principal);
    return { key, revision: (await store.get(key))?.revision };
  });
  const outcomes = await Promise.allSettled(
    [...new Set(sources)].map(async (auth) => await auth.deleteAll?.({ principal })),
  );
  await inParallel(found, async ({ key, revision }) => {
    // What has changed is what an `auth` has left: a mark, so that a sign-in under way brings nothing back.
    if (revision !== undefined) await store.delete(key, revision);
  });
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
