import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { Client } from "../protocol/client.ts";
import type { GrantRecord, GrantTokens } from "../records/grant-record.ts";
import type { Stored } from "../records/records.ts";
import { revoke } from "./ask-for-tokens.ts";
import { leaseMs, type OAuthContext } from "./oauth-context.ts";
import { saveInsistently } from "./save-insistently.ts";

/** A sign-in that was ended. */
export interface SignedOut {
  readonly connection: string;
  /** The origin of the MCP server. */
  readonly server: string;
  /** Whether the authorization server has revoked the tokens, too. */
  readonly isRevoked: boolean;
}

/** How long a sign-in may be under way, in milliseconds. */
export const signInMs = 600_000;

/** Forgets the grants of a principal that match, and revokes their tokens (RFC 7009). */
export async function signOut(
  context: OAuthContext,
  principal: Principal,
  isMeant: (grant: GrantRecord) => boolean,
): Promise<SignedOut[]> {
  const stored = await context.records.grants(principal);
  const meant = stored.filter(({ record }) => record !== undefined && isMeant(record));
  const ended = await Promise.all(meant.map((each) => signOutOf(context, each)));
  return ended.filter((each) => each !== undefined);
}

/** Forgets all grants of a principal, those that cannot be opened as well. */
export async function deleteAll(context: OAuthContext, principal: Principal): Promise<SignedOut[]> {
  const ended = await signOut(context, principal, () => true);
  const stored = await context.records.grants(principal);
  const closed = stored.filter(({ record }) => record === undefined);
  await Promise.all(closed.map(async (each) => await context.records.remove(each)));
  return ended;
}

async function signOutOf(
  context: OAuthContext,
  listed: Stored<GrantRecord>,
): Promise<SignedOut | undefined> {
  const { records, now, emit } = context;
  let stored = listed;
  let known: GrantTokens | undefined;
  for (;;) {
    const { record } = stored;
    if (record === undefined) return undefined;
    const { version, url, connection, generation, signOuts = 0 } = record;
    // A store that failed may have written the tombstone all the same.
    const tokens = (known = record.tokens ?? known);
    // Before the tokens are gone: a store that fails now costs no revocation.
    const client = tokens && (await findClient(context, tokens));
    // It stays until nothing that has begun before it can end after it.
    const tombstone: GrantRecord = {
      ...{ version, url, connection, generation: generation + 1, signOuts: signOuts + 1 },
    };
    const expiresAt = now() + signInMs + leaseMs(context);
    const current = stored;
    const write = async () => await records.replace(current, tombstone, expiresAt);
    if ((await saveInsistently(write)) === undefined) {
      stored = await records.reread(stored);
      continue;
    }
    if (tokens === undefined) return undefined;
    const isRevoked = client !== undefined && (await revoke(context, new URL(url), tokens, client));
    emit({ type: "signed-out", connection, isRevoked });
    return { connection, server: new URL(url).origin, isRevoked };
  }
}

/** The client to revoke tokens with; `undefined` if it is not known any more, or cannot be used as it is configured. */
async function findClient(
  { clients }: OAuthContext,
  tokens: GrantTokens,
): Promise<Client | undefined> {
  try {
    return await clients.find(tokens.server, tokens);
  } catch (error) {
    if (McpSessionError.isInstance(error) && error.code === "CONNECTION_INVALID") return undefined;
    throw error;
  }
}
