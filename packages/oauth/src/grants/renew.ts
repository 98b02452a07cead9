import { McpSessionError } from "@durable-mcp/core";
import { randomToken, wait } from "@durable-mcp/core/internal";
import type { TokenOutcome } from "../protocol/token-request.ts";
import type { Tokens } from "../protocol/tokens.ts";
import type { GrantRecord, GrantTokens, RefreshLease } from "../records/grant-record.ts";
import type { Stored } from "../records/records.ts";
import { newGrant, type ResourceUse } from "./authorization-required.ts";
import { leaseMs, type OAuthContext } from "./oauth-context.ts";
import { saveInsistently } from "./save-insistently.ts";
import { createLeaseWatch } from "./watch-lease.ts";

/** Asks an authorization server for new tokens. It takes `timeoutMs` at most. */
export type AskForTokens = (
  before: GrantTokens | undefined,
) => Promise<
  | Exclude<TokenOutcome, { type: "tokens" }>
  | { readonly type: "tokens"; readonly tokens: GrantTokens; readonly undo: () => Promise<unknown> }
>;

/** A refresh token is used by two holders of the lease at most. */
const maxTries = 2;

export type Renewal =
  /** There are other tokens than those that were refused, or that have expired. */
  | { readonly type: "tokens"; readonly tokens: GrantTokens }
  /** The record is as the authorization server's refusal, or the loss of its answers, left it. */
  | { readonly type: "over"; readonly stored: Stored<GrantRecord>; readonly isLost?: true }
  /** The tokens stay. */
  | { readonly type: "failed"; readonly error: McpSessionError };

interface RenewOptions {
  readonly ask: AskForTokens;
  /** Whether tokens of the record will do. */
  readonly isEnough: (tokens: GrantTokens) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Renews tokens, once for all processes: one holds the lease and asks, the others wait and take what it saved. Tokens
 * are saved before anybody uses them.
 *
 * The end of a process before and after it has asked look alike. So the next holder of the lease asks once more, and
 * then nobody.
 */
export async function renew(
  context: OAuthContext,
  use: ResourceUse,
  first: Stored<GrantRecord>,
  options: RenewOptions,
): Promise<Renewal> {
  const { records, now } = context;
  const { isEnough, signal } = options;
  let stored = first;
  const isLeaseHeld = createLeaseWatch(leaseMs(context), now);
  for (;;) {
    const { tokens, lease } = stored.record ?? newGrant(use);
    if (tokens && isEnough(tokens)) return { type: "tokens", tokens };
    const isHeld = isLeaseHeld(lease);
    const isPause = lease?.isPause && lease.until <= now() + leaseMs(context);
    if (isHeld && isPause) return { type: "failed", error: notRefreshed(use, "pause") };
    if (isHeld) {
      await wait(50 + Math.random() * 150, signal);
    } else if (tokens?.refreshToken !== undefined && (lease?.tries ?? 0) >= maxTries) {
      return { type: "over", stored, isLost: true };
    } else {
      const claimed = await claim(context, use, stored);
      if (claimed !== undefined) return await renewClaimed(context, use, claimed, options);
      await wait(Math.random() * 50, signal);
    }
    stored = await records.grant(use.principal, use.resourceId);
    // Signed out meanwhile.
    if (tokens !== undefined && stored.record?.tokens === undefined)
      return { type: "over", stored };
  }
}

/** @returns `undefined` if the record has changed meanwhile */
export async function claim(
  context: OAuthContext,
  use: ResourceUse,
  stored: Stored<GrantRecord>,
): Promise<Stored<GrantRecord> | undefined> {
  const record = stored.record ?? newGrant(use);
  const lease: RefreshLease = {
    token: randomToken(),
    until: context.now() + leaseMs(context),
    tries: (record.lease?.tries ?? 0) + 1,
  };
  return await context.records.replace(stored, { ...record, lease });
}

/** Asks, as the holder of the lease. */
export async function renewClaimed(
  context: OAuthContext,
  use: ResourceUse,
  claimed: Stored<GrantRecord>,
  { ask }: Pick<RenewOptions, "ask">,
): Promise<Renewal> {
  const { emit } = context;
  const { connection } = use;
  const record = claimed.record!;
  const outcome = await ask(record.tokens).catch(async (error: unknown) => {
    // It brought no answer that counts, so others may ask.
    await pause(context, claimed);
    throw error;
  });
  if (outcome.type === "tokens") {
    const saved = await save(context, use, claimed, outcome.tokens);
    // By its text: a store that failed may have written all the same.
    if (saved?.accessToken === outcome.tokens.accessToken) emit({ type: "refreshed", connection });
    if (saved !== undefined) return { type: "tokens", tokens: saved };
    // Only now: to revoke a token may end the grant of the tokens that another process has saved.
    await outcome.undo();
    return { type: "over", stored: await context.records.grant(use.principal, use.resourceId) };
  }
  if (outcome.type === "refused") {
    // The try before was never answered for: what that process lost is what the server refuses.
    const isLost = outcome.error === "invalid_grant" && record.lease!.tries > 1;
    if (isLost) return { type: "over", stored: claimed, isLost };
    emit({ type: "refresh-refused", connection });
    return { type: "over", stored: claimed };
  }
  emit({ type: "refresh-failed", connection, error: outcome.error });
  await pause(context, claimed);
  return { type: "failed", error: notRefreshed(use, "failed", outcome.error) };
}

/** Others do not ask at once again. A holder that is alive does not count as one whose answer was lost. */
async function pause(context: OAuthContext, claimed: Stored<GrantRecord>): Promise<void> {
  const { lease, ...record } = claimed.record!;
  const tries = lease!.tries - 1;
  const until = context.now() + Math.min(1_000, context.timeoutMs);
  // A conflict means that the lease is over.
  await context.records.replace(claimed, {
    ...record,
    lease: { token: lease!.token, until, tries, isPause: true },
  });
}

/** Saves new tokens. @returns those that are saved then; `undefined` if the user has signed out */
async function save(
  context: OAuthContext,
  use: ResourceUse,
  claimed: Stored<GrantRecord>,
  tokens: GrantTokens,
): Promise<GrantTokens | undefined> {
  const { records } = context;
  const { generation } = claimed.record!;
  let stored = claimed;
  return await saveInsistently(async () => {
    for (;;) {
      const { lease: _, ...record } = stored.record!;
      // The connection may have another name by now.
      const { connection } = use;
      const next = { ...record, connection, tokens, generation: generation + 1 };
      if ((await records.replace(stored, next)) !== undefined) return tokens;
      stored = await records.grant(use.principal, use.resourceId);
      // The user has signed out, or in again, or the next holder of the lease was faster.
      if (stored.record?.generation !== generation) return stored.record?.tokens;
    }
  });
}

const whyNot = {
  failed: "the authorization server could not refresh the token",
  pause: "the authorization server could not refresh the token a moment ago",
};

function notRefreshed(
  { connection, url }: ResourceUse,
  why: keyof typeof whyNot,
  cause?: McpSessionError,
): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${whyNot[why]}. The user stays signed in; the next request tries again. This one was not sent.`,
    {
      data: {
        ...{ connection, origin: url.origin },
        reason: cause?.data.reason ?? "other",
        ...(cause?.data.status !== undefined && { status: cause.data.status }),
      },
      cause,
    },
  );
}

/** A grant's tokens after an answer to `before`, or to the first request. */
export function renewedTokens(
  { accessToken, refreshToken, scopes, expiresAt }: Tokens,
  before: Omit<GrantTokens, "accessToken" | "obtainedAt" | "expiresAt">,
  now: number,
): GrantTokens {
  const { server, clientId, redirectUrl, resource, signedInAt } = before;
  // A server that does not rotate leaves the refresh token out.
  const kept = refreshToken ?? before.refreshToken;
  return {
    ...{ server, clientId, resource, accessToken, signedInAt, obtainedAt: now },
    ...(redirectUrl !== undefined && { redirectUrl }),
    scopes: scopes ?? before.scopes,
    ...(kept !== undefined && { refreshToken: kept }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
