import { McpSessionError, type Principal } from "@durable-mcp/core";
import { randomToken } from "@durable-mcp/core/internal";
import type { RefreshLoss } from "../base/oauth-event.ts";
import type { GrantRecord, NeededSignIn } from "../records/grant-record.ts";
import { readScopes } from "../protocol/scopes.ts";
import { type Stored } from "../records/records.ts";
import { sealChat } from "../records/chat-reference.ts";
import type { OAuthContext } from "./oauth-context.ts";
import type { LoginRequired } from "./asked-tokens.ts";
import type { Asked } from "./read-challenge.ts";

/** A use of a resource by a principal. */
export interface ResourceUse {
  readonly principal: Principal;
  readonly connection: string;
  readonly url: URL;
  /** Names the resource in keys and in `startUrl`. */
  readonly resourceId: string;
  /** The agent session. */
  readonly sessionId?: string | undefined;
}

/** Why the user has to sign in. */
export interface SignInNeed {
  /** By the server, if it has refused. */
  readonly asked?: Asked | undefined;
  /** The tokens are of no use any more. */
  readonly isOver?: boolean | undefined;
  readonly lost?: RefreshLoss | undefined;
  /** At the company, not at the server. */
  readonly login?: LoginRequired | undefined;
  /** How often the server has asked for more scopes. */
  readonly stepUps?: GrantRecord["stepUps"];
}

/** What a record says where there is none yet. */
export function newGrant({ url, connection }: ResourceUse): GrantRecord {
  return { version: 1, url: url.href, connection, generation: 0 };
}

/**
 * Notes that the user has to sign in.
 *
 * @returns the error that says so; `undefined` if the record has changed meanwhile, and is to be looked at again
 */
export async function noteNeeded(
  context: OAuthContext,
  use: ResourceUse,
  stored: Stored<GrantRecord>,
  need: SignInNeed,
): Promise<McpSessionError | undefined> {
  const before = stored.record ?? newGrant(use);
  const { tokens, lease, unanswered, generation, ...rest } = before;
  const needed = neededSignIn(use, before, need, context.now());
  const next: GrantRecord = {
    linkKey: randomToken(),
    ...rest,
    connection: use.connection,
    generation: need.isOver ? generation + 1 : generation,
    ...(!need.isOver && { tokens, lease, unanswered }),
    needed,
    ...(need.stepUps && { stepUps: need.stepUps }),
  };
  const isEnded = need.isOver && (tokens ?? lease) !== undefined;
  const isNamed = before.connection === use.connection;
  const isKnown = !isEnded && !need.stepUps && isNamed && isSame(before.needed, needed);
  if (!isKnown && (await context.records.replace(stored, next)) === undefined) return undefined;
  // It may have been told when the token was left to its end.
  if (need.lost && tokens?.refreshToken !== undefined) {
    context.emit({ type: "refresh-lost", connection: use.connection, reason: need.lost });
  }
  // Who is not logged in yet is asked for each time, and told of once.
  const isTold = need.login && !tokens && isNamed && isSame(before.needed, needed);
  if (!isKnown && !isTold) {
    context.emit({
      type: "authorization-required",
      connection: use.connection,
      scopes: needed.scopes,
    });
  }
  return await authorizationRequired(context, use, next);
}

function neededSignIn(
  use: ResourceUse,
  { needed: before, tokens }: GrantRecord,
  { asked, lost = before?.lost, login }: SignInNeed,
  now: number,
): NeededSignIn {
  const { scopes = [], resourceMetadata = before?.resourceMetadata } = asked ?? {};
  const takesProofs = asked?.takesProofs ?? before?.takesProofs;
  const sessionId = use.sessionId ?? before?.sessionId;
  const all = [...(tokens?.scopes ?? []), ...(before?.scopes ?? []), ...scopes];
  return {
    // A sign-in for some scopes must not cost others.
    scopes: readScopes(all),
    askedAt: before?.askedAt ?? now,
    ...(resourceMetadata != null && { resourceMetadata }),
    ...(sessionId !== undefined && { sessionId }),
    ...(takesProofs && { takesProofs }),
    ...(lost && { lost }),
    ...(login && { company: { refusedIdToken: login.refusedIdToken } }),
  };
}

function isSame(before: NeededSignIn | undefined, needed: NeededSignIn): boolean {
  return (
    before !== undefined &&
    before.sessionId === needed.sessionId &&
    before.resourceMetadata === needed.resourceMetadata &&
    before.takesProofs === needed.takesProofs &&
    (before.company === undefined) === (needed.company === undefined) &&
    before.company?.refusedIdToken === needed.company?.refusedIdToken &&
    before.scopes.length === needed.scopes.length
  );
}

/** The error for a connection whose user has to sign in. */
export async function authorizationRequired(
  context: OAuthContext,
  use: ResourceUse,
  { needed, linkKey }: GrantRecord,
): Promise<McpSessionError> {
  const { connection, url } = use;
  const { scopes = [], lost } = needed ?? {};
  const startUrl = await signInUrlOf(context, use, { needed, linkKey });
  const why = lost
    ? ` The tokens of the last sign-in were lost, with the answer to a refresh (${lost}).`
    : "";
  return new McpSessionError(
    "AUTHORIZATION_REQUIRED",
    `Connection ${connection}: the user has to sign in at ${startUrl} first.${why} Nothing was carried out.`,
    {
      data: {
        ...{ connection, origin: url.origin, reason: "authorization-required" },
        ...{ scopes, startUrl },
      },
    },
  );
}

/** Where the user goes: to the company's login, or to the application's page that begins the sign-in. */
export async function signInUrlOf(
  context: OAuthContext,
  use: ResourceUse,
  { needed, linkKey }: Pick<GrantRecord, "needed" | "linkKey">,
): Promise<string> {
  if (needed?.company && context.enterprise) return context.enterprise.loginUrl.href;
  return await startUrlOf(context, use, linkKey);
}

/** The application's page where the sign-in for a resource begins, and the agent session that goes on after it. */
async function startUrlOf(
  { startUrl }: Pick<OAuthContext, "startUrl">,
  { connection, resourceId, sessionId }: ResourceUse,
  linkKey: string | undefined,
): Promise<string> {
  const url = new URL(startUrl);
  url.searchParams.set("connection", connection);
  url.searchParams.set("resource", resourceId);
  const chat = sessionId && linkKey && (await sealChat(sessionId, linkKey));
  if (chat) url.searchParams.set("chat", chat);
  return url.href;
}
