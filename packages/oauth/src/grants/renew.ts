import { McpSessionError } from "@durable-mcp/core";
import { randomToken, wait } from "@durable-mcp/core/internal";
import type { RefreshLoss } from "../base/oauth-event.ts";
import type { AskForTokens, LoginRequired } from "./asked-tokens.ts";
import type { GrantRecord, GrantTokens, Unanswered } from "../records/grant-record.ts";
import type { Stored } from "../records/records.ts";
import { newGrant, type ResourceUse } from "./authorization-required.ts";
import { isHeld, leaseMs, type OAuthContext } from "./oauth-context.ts";
import { saveInsistently } from "./save-insistently.ts";

/** A refresh token is sent twice at most, and within this time, in milliseconds, if its first use may have counted. */
const maxTries = 2;
const askAgainMs = 10_000;

export type Renewal =
  /** There are other tokens than those that were refused, or that have expired. */
  | { readonly type: "tokens"; readonly tokens: GrantTokens }
  /** The record is as the authorization server's refusal, or the loss of its answers, left it. */
  | {
      readonly type: "over";
      readonly stored: Stored<GrantRecord>;
      readonly lost?: RefreshLoss | undefined;
      readonly login?: LoginRequired | undefined;
    }
  /** The tokens stay. */
  | { readonly type: "failed"; readonly error: McpSessionError };

interface RenewOptions {
  readonly ask: AskForTokens;
  /** Whether tokens of the record will do. */
  readonly isEnough: (tokens: GrantTokens) => boolean;
  readonly signal?: AbortSignal | undefined;
  /** The record, if this process has the lease. */
  readonly claimed?: Stored<GrantRecord> | undefined;
}

/**
 * Renews tokens, once for all processes: one holds the lease and asks, the others wait and take what it saved. Tokens
 * are saved before anybody uses them.
 */
export async function renew(
  context: OAuthContext,
  use: ResourceUse,
  first: Stored<GrantRecord>,
  options: RenewOptions,
): Promise<Renewal> {
  const { records, now, timeoutMs } = context;
  const { isEnough, claimed: own } = options;
  // The caller's own limit may be as long, and would say less. The pause after a failure is shorter.
  const waitMs = Math.max(timeoutMs - 1_000, Math.min(timeoutMs, 2_000));
  let { signal } = options;
  let stored = first;
  let waitsUntil = performance.now() + waitMs;
  for (;;) {
    const record = stored.record ?? newGrant(use);
    const { tokens, lease, unanswered } = record;
    if (tokens && isEnough(tokens)) return { type: "tokens", tokens };
    const isOthers = stored !== own && isHeld(lease, context);
    const lost = isOthers && !lease?.isPause ? undefined : lossOf(record, now());
    if (lost !== undefined) return { type: "over", stored, lost };
    const hasFailed = lease?.isPause === true && unanswered === undefined;
    if (isOthers && (hasFailed || performance.now() >= waitsUntil)) {
      const late = `no token came within ${waitMs} ms, for another process has begun to refresh it`;
      const [why, reason] = hasFailed
        ? [failedToRefresh(" a moment ago"), "other" as const]
        : [late, "refresh-under-way" as const];
      return { type: "failed", error: notRefreshed(use, why, { data: { reason } }) };
    }
    if (isOthers) {
      await wait(50 + Math.random() * 150, signal);
    } else {
      const claimed = stored === own ? own : await claim(context, use, stored);
      const renewal = claimed && (await renewClaimed(context, use, claimed, options));
      if (renewal !== undefined && renewal.type !== "again") return renewal;
      // Whoever has asked goes on, also after its caller.
      if (renewal === undefined) await wait(Math.random() * 50, signal);
      else [signal, waitsUntil] = [undefined, performance.now() + waitMs];
    }
    stored = await records.grant(use.principal, use.resourceId);
    if (tokens !== undefined && hasEnded(tokens, stored.record?.tokens)) {
      return { type: "over", stored, lost: stored.record?.unanswered?.reason };
    }
  }
}

/**
 * Why a refresh token must not be sent any more: it was perhaps used. A server that gives the answer once more does so
 * for some seconds; another one takes the next use for that of a thief.
 */
function lossOf({ tokens, unanswered }: GrantRecord, now: number): RefreshLoss | undefined {
  if (tokens?.refreshToken === undefined || unanswered === undefined) return undefined;
  const isOver = unanswered.count >= maxTries || now - unanswered.since > askAgainMs;
  return isOver && !tokens.isRefreshTokenKept ? unanswered.reason : undefined;
}

/** Whether the user has signed out, or another process has given the refresh token up: nobody is to ask. */
function hasEnded(before: GrantTokens, now: GrantTokens | undefined): boolean {
  if (now === undefined) return true;
  const isSame = now.accessToken === before.accessToken;
  return isSame && before.refreshToken !== undefined && now.refreshToken === undefined;
}

/** @returns `undefined` if the record has changed meanwhile */
export async function claim(
  context: OAuthContext,
  use: ResourceUse,
  stored: Stored<GrantRecord>,
): Promise<Stored<GrantRecord> | undefined> {
  const record = stored.record ?? newGrant(use);
  const lease = { token: randomToken(), until: context.now() + leaseMs(context) };
  return await context.records.replace(stored, { ...record, lease });
}

/** Asks, as the holder of the lease. `again`: nobody knows whether the server has done it, or another one is faster. */
async function renewClaimed(
  context: OAuthContext,
  use: ResourceUse,
  claimed: Stored<GrantRecord>,
  { ask }: Pick<RenewOptions, "ask">,
): Promise<Renewal | { readonly type: "again" }> {
  const { records, emit, now } = context;
  const { connection } = use;
  const { unanswered: before, ...record } = claimed.record!;
  let held = claimed;
  const mark = async () => {
    if (record.tokens?.isRefreshTokenKept) return true;
    do {
      const { count = 0, since = now() } = before ?? {};
      const unanswered: Unanswered = { count: count + 1, since, reason: "process-ended" };
      // Discovery has taken its share.
      const lease = { ...held.record!.lease!, until: now() + 2 * context.timeoutMs };
      const marked = await records.replace(held, { ...record, lease, unanswered });
      if (marked === undefined) return false;
      held = marked;
      // A process that stood still meanwhile looks whether another one has gone on.
    } while (!isHeld(held.record!.lease, context));
    return true;
  };
  const outcome = await ask(record.tokens, mark).catch(async (error: unknown) => {
    // It brought no answer that counts, so others may ask.
    await pause(context, held, before);
    throw error;
  });
  if (outcome.type === "overtaken") return { type: "again" };
  if (outcome.type === "tokens") {
    const saved = await save(context, use, held, outcome);
    // By its text: a store that failed may have written all the same.
    if (saved?.accessToken === outcome.tokens.accessToken) emit({ type: "refreshed", connection });
    if (saved !== undefined) return { type: "tokens", tokens: saved };
    // Only now: to revoke a token may end the grant of the tokens that another process has saved.
    await outcome.undo();
    return { type: "over", stored: await records.grant(use.principal, use.resourceId) };
  }
  if (outcome.type === "refused") {
    // What nobody has read the answer to is what the server refuses.
    const lost = outcome.error === "invalid_grant" ? before?.reason : undefined;
    if (lost === undefined) emit({ type: "refresh-refused", connection });
    return { type: "over", stored: held, lost };
  }
  if (outcome.type === "not-offered") return { type: "over", stored: held };
  if (outcome.type === "login-required") return { type: "over", stored: held, login: outcome };
  if (outcome.type === "denied") {
    emit({ type: "refresh-failed", connection, error: outcome.error });
    await pause(context, held, before);
    return { type: "failed", error: outcome.error };
  }
  const { sent, error } = outcome;
  emit({ type: "refresh-failed", connection, error });
  const isPerhapsUsed = sent === "perhaps" && held !== claimed;
  const unanswered = { ...held.record!.unanswered!, reason: lossBy(error) };
  await pause(context, held, isPerhapsUsed ? unanswered : before);
  if (isPerhapsUsed) return { type: "again" };
  return {
    type: "failed",
    error: notRefreshed(use, failedToRefresh(), error),
  };
}

function lossBy({ data: { reason, status } }: McpSessionError): RefreshLoss {
  if (reason === "timeout") return "timeout";
  return status === undefined ? "connection-broken" : "gateway";
}

/** Others do not ask at once again. */
async function pause(
  { records, now, timeoutMs }: OAuthContext,
  held: Stored<GrantRecord>,
  unanswered: Unanswered | undefined,
): Promise<void> {
  const { token } = held.record!.lease!;
  const lease = { token, until: now() + Math.min(1_000, timeoutMs), isPause: true } as const;
  let stored = held;
  await saveInsistently(async () => {
    // Otherwise the lease is over. A store that failed may have written the mark all the same.
    while (stored.record?.lease?.token === token) {
      const { unanswered: _, ...record } = stored.record;
      const next = { ...record, lease, ...(unanswered && { unanswered }) };
      if ((await records.replace(stored, next)) !== undefined) return;
      stored = await records.reread(stored);
    }
  });
}

/** Saves new tokens. @returns those that are saved then; `undefined` if the user has signed out */
async function save(
  context: OAuthContext,
  use: ResourceUse,
  claimed: Stored<GrantRecord>,
  { tokens, isWhole }: { readonly tokens: GrantTokens; readonly isWhole?: boolean },
): Promise<GrantTokens | undefined> {
  const { records } = context;
  const { generation } = claimed.record!;
  let stored = claimed;
  return await saveInsistently(async () => {
    for (;;) {
      const { lease: _, unanswered: _answered, ...record } = stored.record!;
      // The connection may have another name by now.
      const { connection } = use;
      const { needed, ...rest } = record;
      const kept = isWhole ? rest : { ...rest, ...(needed && { needed }) };
      const next = { ...kept, connection, tokens, generation: generation + 1 };
      if ((await records.replace(stored, next)) !== undefined) return tokens;
      stored = await records.grant(use.principal, use.resourceId);
      // The user has signed out, or in again, or the next holder of the lease was faster.
      if (stored.record?.generation !== generation) return stored.record?.tokens;
    }
  });
}

const failedToRefresh = (when = "") =>
  `the authorization server could not refresh the token${when}. The user stays signed in`;

function notRefreshed(
  { connection, url }: ResourceUse,
  why: string,
  cause: Pick<McpSessionError, "data"> = { data: {} },
): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${why}. The next request tries again; this one was not carried out.`,
    {
      data: {
        ...{ connection, origin: url.origin },
        reason: cause.data.reason ?? "other",
        ...(cause.data.status !== undefined && { status: cause.data.status }),
      },
      cause: McpSessionError.isInstance(cause) ? cause : undefined,
    },
  );
}
