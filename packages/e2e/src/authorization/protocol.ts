/** What an authorization server of these tests has put on record: no token, code or verifier, but digests of them. */
export type JournalEntry = RequestEntry | RevokedGrantEntry;

export type RequestKind =
  | "authorize"
  | "token"
  | "registration"
  | "revocation"
  | "introspection"
  | "metadata";

/** A request, in the order in which requests came. */
export interface RequestEntry {
  readonly kind: RequestKind;
  readonly clientId?: string | undefined;
  readonly grantType?: string | undefined;
  /** All that were sent (RFC 8707). */
  readonly resources: readonly string[];
  readonly scope?: string | undefined;
  /** Digests of what an authorization request or a token request had in it. */
  readonly state?: string | undefined;
  readonly challenge?: string | undefined;
  readonly code?: string | undefined;
  readonly verifier?: string | undefined;
  readonly refreshToken?: string | undefined;
  /** What went wrong on purpose. */
  readonly fault?: TokenFault | undefined;
  /** Of the answer, also if the fault kept it back; missing while there is none. */
  status?: number;
  /** The OAuth error of a token request. */
  error?: string;
  /** Digest of the refresh token that the answer had in it. */
  issuedRefreshToken?: string;
}

/** A grant that is gone, with all its tokens. */
interface RevokedGrantEntry {
  readonly kind: "grant-revoked";
  /** "token": a refresh token or a code was used again. */
  readonly by: "token" | "revocation" | "control" | "other";
}

/**
 * "unavailable" answers 503, "too-many-requests" 429, without carrying out; the cuts break the connection before or
 * after carrying out, the waits hold the request or its answer back; the gateways answer 504 in JSON or 502 in HTML after
 * carrying out.
 */
export type TokenFault =
  | "unavailable"
  | "too-many-requests"
  | "cut-before"
  | "cut-after"
  | "wait-before"
  | "wait-after"
  | "gateway-timeout"
  | "bad-gateway";

export interface TokenFaultPlan {
  readonly fault: TokenFault;
  /** How many of the next token requests. @default 1 */
  readonly times?: number;
  /** Only those of this grant type. @default all */
  readonly grantType?: "authorization_code" | "refresh_token" | "client_credentials";
  /** Of the waits, in milliseconds. */
  readonly waitMs?: number;
}

/** What the control endpoint takes: a POST of JSON to `/<name>`. */
export interface Commands {
  journal: Record<string, never>;
  "clear-journal": Record<string, never>;
  "fail-token-requests": TokenFaultPlan;
  "stop-failing": Record<string, never>;
  "expire-access-tokens": Record<string, never>;
  "revoke-grants": { readonly account?: string };
  "set-access-token-seconds": { readonly seconds: number };
  /** A client id metadata document, which the server gets when it fetches the id. */
  "serve-client-document": { readonly id: string; readonly document: Record<string, unknown> };
}

/** Plain JSON, in an argument of the program. */
export interface AuthorizationServerOptions {
  /** @default 300 */
  readonly accessTokenSeconds?: number;
  /** "opaque" tokens end at once when they are expired or revoked, "jwt" ones by their time alone. @default "opaque" */
  readonly accessTokens?: "opaque" | "jwt";
  /** "never": access tokens alone. @default "always" */
  readonly refreshTokens?: "always" | "never";
  /** Whether a refresh token is good for one use, and again for a moment, or for ever. @default "once" */
  readonly refreshTokenUse?: "once" | "grace" | "ever";
  /** Dynamic registration (RFC 7591). @default true */
  readonly registration?: boolean;
  /** @default true */
  readonly clientDocuments?: boolean;
  /** Of every resource. @default "notes:read notes:write notes:delete" */
  readonly scopes?: string;
  /** Registrations by hand, in the field names of RFC 7591. */
  readonly clients?: readonly ({ readonly client_id: string } & Record<string, unknown>)[];
}

/** Who asks the authorization servers of these tests about tokens (RFC 7662). */
export const resourceServerClient = { id: "resource-server", secret: "of the resource server" };
