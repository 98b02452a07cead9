import { type RefreshLoss, refreshLosses } from "../base/oauth-event.ts";
import { isRecord } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";

/** What the user is asked for, since a server has refused. Times are milliseconds since 1970-01-01 UTC. */
export interface NeededSignIn {
  /** Those that the server has asked for, and those that were granted before; empty if nobody has said. */
  readonly scopes: readonly string[];
  readonly askedAt: number;
  /** The URL of the protected resource's metadata, as the server gave it. */
  readonly resourceMetadata?: string | undefined;
  /** The agent session that met the refusal last. */
  readonly sessionId?: string | undefined;
  /** Set if the tokens were lost in a refresh. */
  readonly lost?: RefreshLoss | undefined;
}

/** The tokens of a grant, and where they come from. */
export interface GrantTokens {
  readonly server: AuthorizationServer;
  readonly clientId: string;
  /** The callback of the sign-in, for which the client is registered. The application's own tokens have none. */
  readonly redirectUrl?: string | undefined;
  /** For RFC 8707. */
  readonly resource: string;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Whether the last refresh brought no other refresh token: this one may be used again. */
  readonly isRefreshTokenKept?: true | undefined;
  readonly scopes: readonly string[];
  readonly signedInAt: number;
  readonly obtainedAt: number;
  readonly expiresAt?: number | undefined;
}

/** The right of one process to use the refresh token. */
interface RefreshLease {
  readonly token: string;
  readonly until: number;
  /** Nobody holds it: the last holder was not answered with tokens, and nobody asks again before `until`. */
  readonly isPause?: true | undefined;
}

/** Requests with the refresh token that were perhaps carried out, and whose answers nobody has read. */
export interface Unanswered {
  readonly count: number;
  /** When the first one was about to be sent. */
  readonly since: number;
  /** Why the last one has no answer. */
  readonly reason: RefreshLoss;
}

/** What is stored of a principal at one resource. */
export interface GrantRecord {
  readonly version: 1;
  /** The resource: the URL of the MCP server. */
  readonly url: string;
  /** The application's name of the connection. */
  readonly connection: string;
  /** Counts the changes of the tokens. */
  readonly generation: number;
  readonly tokens?: GrantTokens | undefined;
  readonly needed?: NeededSignIn | undefined;
  readonly lease?: RefreshLease | undefined;
  readonly unanswered?: Unanswered | undefined;
  /** How often the server has asked for more scopes since this time. */
  readonly stepUps?: { readonly count: number; readonly since: number } | undefined;
  /** Seals the agent sessions in links to the sign-in. */
  readonly linkKey?: string | undefined;
  /** How often the user has signed out: what began before the last time brings nothing back. */
  readonly signOuts?: number | undefined;
}

export const serverSchema = z.custom<AuthorizationServer>(
  (value) => isRecord(value) && typeof value["issuer"] === "string",
);
const scopes = z.array(z.string());
const loss = z.enum(refreshLosses);

const grantSchema = z.strictObject({
  version: z.literal(1),
  url: z.url(),
  connection: z.string(),
  generation: z.int(),
  tokens: z.optional(
    z.strictObject({
      server: serverSchema,
      clientId: z.string(),
      redirectUrl: z.optional(z.string()),
      resource: z.string(),
      accessToken: z.string(),
      refreshToken: z.optional(z.string()),
      isRefreshTokenKept: z.optional(z.literal(true)),
      scopes,
      signedInAt: z.number(),
      obtainedAt: z.number(),
      expiresAt: z.optional(z.number()),
    }),
  ),
  needed: z.optional(
    z.strictObject({
      scopes,
      askedAt: z.number(),
      resourceMetadata: z.optional(z.string()),
      sessionId: z.optional(z.string()),
      lost: z.optional(loss),
    }),
  ),
  lease: z.optional(
    z.strictObject({
      token: z.string(),
      until: z.number(),
      isPause: z.optional(z.literal(true)),
    }),
  ),
  unanswered: z.optional(z.strictObject({ count: z.int(), since: z.number(), reason: loss })),
  stepUps: z.optional(z.strictObject({ count: z.int(), since: z.number() })),
  linkKey: z.optional(z.string()),
  signOuts: z.optional(z.int()),
});

/** Parses a record from a store; `undefined` for what does not parse. */
export function parseGrant(value: unknown): GrantRecord | undefined {
  return grantSchema.safeParse(value).data;
}
