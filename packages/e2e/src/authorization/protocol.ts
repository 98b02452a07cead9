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
 * What becomes of the answer after the request was carried out: "cut-after" breaks the connection, "wait-after" holds it
 * back, and a gateway answers 504 in JSON or 502 in HTML instead.
 */
export type TokenFault = "cut-after" | "wait-after" | "gateway-timeout" | "bad-gateway";

export interface TokenFaultPlan {
  readonly fault: TokenFault;
  /** Only those of this grant type. @default all */
  readonly grantType?: "authorization_code" | "refresh_token" | "client_credentials";
  /** Of "wait-after", in milliseconds. */
  readonly waitMs?: number;
}

/** What the control endpoint takes: a POST of JSON to `/<name>`. */
export interface Commands {
  journal: Record<string, never>;
  "clear-journal": Record<string, never>;
  "fail-token-requests": TokenFaultPlan;
  "expire-access-tokens": Record<string, never>;
  "revoke-grants": { readonly account?: string };
}

/** Plain JSON, in an argument of the program. */
export interface AuthorizationServerOptions {
  /** @default 300 */
  readonly accessTokenSeconds?: number;
  /** Whether a refresh token is good for one use, and again for a moment, or for ever. @default "once" */
  readonly refreshTokenUse?: "once" | "grace" | "ever";
}

/** Who asks the authorization servers of these tests about tokens (RFC 7662). */
export const resourceServerClient = { id: "resource-server", secret: "of the resource server" };
