import { refreshLosses } from "../base/oauth-event.ts";
import { isRecord } from "@durable-mcp/core/internal";
import type { JWK } from "jose";
import * as z from "zod/mini";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";

export const serverSchema = z.custom<AuthorizationServer>(
  (value) => isRecord(value) && typeof value["issuer"] === "string",
);
export const scopesSchema = z.readonly(z.array(z.string()));
const loss = z.enum(refreshLosses);

/** The tokens of a grant, and where they come from. */
const tokensSchema = z.object({
  server: serverSchema,
  clientId: z.string(),
  /** The callback of the sign-in, for which the client is registered. The application's own tokens have none. */
  redirectUrl: z.optional(z.string()),
  /** For RFC 8707. */
  resource: z.string(),
  accessToken: z.string(),
  refreshToken: z.optional(z.string()),
  /** Whether the last refresh brought no other refresh token: this one may be used again. */
  isRefreshTokenKept: z.optional(z.literal(true)),
  scopes: scopesSchema,
  signedInAt: z.number(),
  obtainedAt: z.number(),
  expiresAt: z.optional(z.number()),
  /** The private key (a JWK) to which the tokens are bound (RFC 9449): they are no bearer tokens. */
  key: z.optional(z.custom<JWK>(isRecord)),
});
export type GrantTokens = Readonly<z.infer<typeof tokensSchema>>;

/** What the user is asked for, since a server has refused. Times are milliseconds since 1970-01-01 UTC. */
const neededSchema = z.object({
  /** Those that the server has asked for, and those that were granted before; empty if nobody has said. */
  scopes: scopesSchema,
  askedAt: z.number(),
  /** The URL of the protected resource's metadata, as the server gave it. */
  resourceMetadata: z.optional(z.string()),
  /** The agent session that met the refusal last. */
  sessionId: z.optional(z.string()),
  /** The server takes tokens that are bound to a key. */
  takesProofs: z.optional(z.literal(true)),
  /** Set if the tokens were lost in a refresh. */
  lost: z.optional(loss),
  /** Set where the user logs in at the company. `refusedIdToken`: the digest of an ID token that is over. */
  company: z.optional(z.object({ refusedIdToken: z.optional(z.string()) })),
});
export type NeededSignIn = Readonly<z.infer<typeof neededSchema>>;

/** Requests with the refresh token that were perhaps carried out, and whose answers nobody has read. */
const unansweredSchema = z.object({
  count: z.int(),
  /** When the first one was about to be sent. */
  since: z.number(),
  /** Why the last one has no answer. */
  reason: loss,
});
export type Unanswered = Readonly<z.infer<typeof unansweredSchema>>;

/** What is stored of a principal at one resource. */
const grantSchema = z.object({
  version: z.literal(1),
  /** The resource: the URL of the MCP server. */
  url: z.url(),
  /** The application's name of the connection. */
  connection: z.string(),
  /** Counts the changes of the tokens. */
  generation: z.int(),
  tokens: z.optional(tokensSchema),
  /** In place of `tokens`, those that are bound to a key: a release that makes no proofs would send them bare. */
  boundTokens: z.optional(tokensSchema),
  needed: z.optional(neededSchema),
  /** The right of one process to use the refresh token. */
  lease: z.optional(
    z.object({
      token: z.string(),
      until: z.number(),
      /** Nobody holds it: the last holder was not answered with tokens, and nobody asks again before `until`. */
      isPause: z.optional(z.literal(true)),
    }),
  ),
  unanswered: z.optional(unansweredSchema),
  /** How often the server has asked for more scopes since this time. */
  stepUps: z.optional(z.object({ count: z.int(), since: z.number() })),
  /** Seals the agent sessions in links to the sign-in. */
  linkKey: z.optional(z.string()),
  /** How often the user has signed out: what began before the last time brings nothing back. */
  signOuts: z.optional(z.int()),
});
export type GrantRecord = Readonly<z.infer<typeof grantSchema>>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseGrant(value: unknown): GrantRecord | undefined {
  if (!grantSchema.safeParse(value).success) return undefined;
  const { boundTokens: bound, ...record } = value as GrantRecord;
  const { tokens } = record;
  // An older release may have signed in anew beside them.
  const isBound = bound !== undefined && bound.obtainedAt >= (tokens?.obtainedAt ?? 0);
  return isBound ? { ...record, tokens: bound } : record;
}

/** The record as it is stored. */
export function printGrant({ tokens, ...record }: GrantRecord): GrantRecord {
  if (tokens === undefined) return record;
  return tokens.key === undefined ? { ...record, tokens } : { ...record, boundTokens: tokens };
}

/** The last nonces of servers for the proofs of a grant, by what they are for. */
const noncesSchema = z.object({
  version: z.literal(1),
  nonces: z.record(z.string(), z.string()),
});
export type NoncesRecord = Readonly<z.infer<typeof noncesSchema>>;

export function parseNonces(value: unknown): NoncesRecord | undefined {
  return noncesSchema.safeParse(value).success ? (value as NoncesRecord) : undefined;
}
