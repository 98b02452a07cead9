import { refreshLosses } from "../base/oauth-event.ts";
import { isRecord, shape, type Shaped } from "@durable-mcp/core/internal";
import type { JWK } from "jose";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";

export const serverSchema = shape.when<AuthorizationServer>(
  (value) => isRecord(value) && typeof value["issuer"] === "string",
);
export const scopesSchema = shape.listOf(shape.anyText);
export const anyUrl = shape.when<string>(
  (value) => typeof value === "string" && URL.canParse(value),
);
const texts = shape.when<Readonly<Record<string, string>>>(
  (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "string"),
);
const loss = shape.exactly(...refreshLosses);

/** The tokens of a grant, and where they come from. */
const tokensSchema = shape.openRecordOf({
  server: serverSchema,
  clientId: shape.anyText,
  /** The callback of the sign-in, for which the client is registered. The application's own tokens have none. */
  "redirectUrl?": shape.anyText,
  /** For RFC 8707. */
  resource: shape.anyText,
  accessToken: shape.anyText,
  "refreshToken?": shape.anyText,
  /** Whether the last refresh brought no other refresh token: this one may be used again. */
  "isRefreshTokenKept?": shape.exactly(true),
  scopes: scopesSchema,
  signedInAt: shape.anyNumber,
  obtainedAt: shape.anyNumber,
  "expiresAt?": shape.anyNumber,
  /** The private key (a JWK) to which the tokens are bound (RFC 9449): they are no bearer tokens. */
  "key?": shape.when<JWK>(isRecord),
});
export type GrantTokens = Shaped<typeof tokensSchema>;

/** What the user is asked for, since a server has refused. Times are milliseconds since 1970-01-01 UTC. */
const neededSchema = shape.openRecordOf({
  /** Those that the server has asked for, and those that were granted before; empty if nobody has said. */
  scopes: scopesSchema,
  askedAt: shape.anyNumber,
  /** The URL of the protected resource's metadata, as the server gave it. */
  "resourceMetadata?": shape.anyText,
  /** The agent session that met the refusal last. */
  "sessionId?": shape.anyText,
  /** The server takes tokens that are bound to a key. */
  "takesProofs?": shape.exactly(true),
  /** Set if the tokens were lost in a refresh. */
  "lost?": loss,
  /** Set where the user logs in at the company. `refusedIdToken`: the digest of an ID token that is over. */
  "company?": shape.openRecordOf({ "refusedIdToken?": shape.anyText }),
});
export type NeededSignIn = Shaped<typeof neededSchema>;

/** Requests with the refresh token that were perhaps carried out, and whose answers nobody has read. */
const unansweredSchema = shape.openRecordOf({
  count: shape.anyWhole,
  /** When the first one was about to be sent. */
  since: shape.anyNumber,
  /** Why the last one has no answer. */
  reason: loss,
});
export type Unanswered = Shaped<typeof unansweredSchema>;

/** What is stored of a principal at one resource. */
const grantSchema = shape.openRecordOf({
  version: shape.exactly(1),
  /** The resource: the URL of the MCP server. */
  url: anyUrl,
  /** The application's name of the connection. */
  connection: shape.anyText,
  /** Counts the changes of the tokens. */
  generation: shape.anyWhole,
  "tokens?": tokensSchema,
  /** In place of `tokens`, those that are bound to a key: a release that makes no proofs would send them bare. */
  "boundTokens?": tokensSchema,
  "needed?": neededSchema,
  /** The right of one process to use the refresh token. */
  "lease?": shape.openRecordOf({
    token: shape.anyText,
    until: shape.anyNumber,
    /** Nobody holds it: the last holder was not answered with tokens, and nobody asks again before `until`. */
    "isPause?": shape.exactly(true),
  }),
  "unanswered?": unansweredSchema,
  /** How often the server has asked for more scopes since this time. */
  "stepUps?": shape.openRecordOf({ count: shape.anyWhole, since: shape.anyNumber }),
  /** Seals the agent sessions in links to the sign-in. */
  "linkKey?": shape.anyText,
  /** How often the user has signed out: what began before the last time brings nothing back. */
  "signOuts?": shape.anyWhole,
});
export type GrantRecord = Shaped<typeof grantSchema>;

/** Parses a record from a store, with the fields of later releases; `undefined` for what does not parse. */
export function parseGrant(value: unknown): GrantRecord | undefined {
  if (grantSchema(value) !== undefined) return undefined;
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
const noncesSchema = shape.openRecordOf({
  version: shape.exactly(1),
  nonces: texts,
});
export type NoncesRecord = Shaped<typeof noncesSchema>;

export function parseNonces(value: unknown): NoncesRecord | undefined {
  return noncesSchema(value) === undefined ? (value as NoncesRecord) : undefined;
}
