import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { GrantRecord, NeededSignIn } from "../records/grant-record.ts";
import { type Stored } from "../records/records.ts";
import type { OAuthContext } from "./oauth-context.ts";
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
  readonly isLost?: true | undefined;
  /** How often the server has asked for more scopes. */
  readonly stepUps?: GrantRecord["stepUps"];
}

/** No sign-in is for more scopes. Servers may ask for others each time. */
const maxScopes = 100;

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
  const { tokens, lease, generation, ...rest } = before;
  const needed = neededSignIn(use, before, need, context.now());
  const next: GrantRecord = {
    ...rest,
    connection: use.connection,
    generation: need.isOver ? generation + 1 : generation,
    ...(!need.isOver && { tokens, lease }),
    needed,
    ...(need.stepUps && { stepUps: need.stepUps }),
  };
  const isEnded = need.isOver && (tokens ?? lease) !== undefined;
  const isNamed = before.connection === use.connection;
  const isKnown = !isEnded && !need.stepUps && isNamed && isSame(before.needed, needed);
  if (!isKnown && (await context.records.replace(stored, next)) === undefined) return undefined;
  if (!isKnown) {
    context.emit({
      type: "authorization-required",
      connection: use.connection,
      scopes: needed.scopes,
    });
  }
  return authorizationRequired(context, use, needed);
}

function neededSignIn(
  { sessionId }: ResourceUse,
  { needed: before, tokens }: GrantRecord,
  { asked, isLost }: SignInNeed,
  now: number,
): NeededSignIn {
  const { scopes = [], resourceMetadata = before?.resourceMetadata } = asked ?? {};
  const all = new Set([...(tokens?.scopes ?? []), ...(before?.scopes ?? []), ...scopes]);
  return {
    // A sign-in for some scopes must not cost others.
    scopes: [...all].slice(0, maxScopes),
    askedAt: before?.askedAt ?? now,
    ...(resourceMetadata != null && { resourceMetadata }),
    ...(sessionId !== undefined
      ? { sessionId }
      : before?.sessionId && { sessionId: before.sessionId }),
    ...((isLost ?? before?.isLost) && { isLost: true as const }),
  };
}

function isSame(before: NeededSignIn | undefined, needed: NeededSignIn): boolean {
  return (
    before !== undefined &&
    before.sessionId === needed.sessionId &&
    before.resourceMetadata === needed.resourceMetadata &&
    before.scopes.length === needed.scopes.length
  );
}

/** The error for a connection whose user has to sign in. */
export function authorizationRequired(
  context: OAuthContext,
  use: ResourceUse,
  { scopes, isLost }: NeededSignIn,
): McpSessionError {
  const { connection, url } = use;
  const startUrl = startUrlOf(context, use);
  const why = isLost
    ? " The tokens of the last sign-in were lost: a process ended before it could save them."
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

/** The application's page where the sign-in for a resource begins. */
export function startUrlOf(
  { startUrl }: Pick<OAuthContext, "startUrl">,
  { connection, resourceId }: Pick<ResourceUse, "connection" | "resourceId">,
): string {
  const url = new URL(startUrl);
  url.searchParams.set("connection", connection);
  url.searchParams.set("resource", resourceId);
  return url.href;
}
