import type { McpSessionError } from "@durable-mcp/core";

/**
 * What happened to sign-ins. No event holds a token, a state, a code, an id or a principal.
 *
 * - `authorization-required`: a connection needs the user's sign-in. `scopes` are those to be granted, if they are
 *   known.
 * - `signed-in`: a callback has brought tokens.
 * - `sign-in-refused`: a sign-in could not begin, its callback was refused, or the authorization server gave no tokens.
 *   Stored tokens stay. `reason` says why.
 * - `refreshed`: tokens were refreshed, once for all processes.
 * - `refresh-failed`: the authorization server could not be asked, or did not answer, or gave nothing for the
 *   assertion of a company or a workload. The tokens stay, unless `refresh-lost` follows.
 * - `refresh-refused`: the authorization server no longer takes the refresh token. The user has to sign in.
 * - `refresh-lost`: the refresh token was perhaps used, and nobody has read the answer. The access token is used to its
 *   end; then the user has to sign in. `reason` says why.
 * - `registered`: this client was registered at an authorization server.
 * - `signed-out`: the tokens are forgotten. `isRevoked`: the authorization server knows.
 * - `unreadable`: a stored value could not be opened, for example because its key is gone. It counts as none.
 * - `unknown-path`: `handler` was asked for a path that is neither of `paths`.
 */
export type OAuthEvent =
  | {
      readonly type: "authorization-required";
      readonly connection: string;
      readonly scopes: readonly string[];
    }
  | { readonly type: "signed-in"; readonly connection: string; readonly issuer: string }
  | {
      readonly type: "sign-in-refused";
      readonly reason: SignInRefusal;
      readonly connection?: string | undefined;
      readonly error?: McpSessionError | undefined;
    }
  | { readonly type: "refreshed"; readonly connection: string }
  | {
      readonly type: "refresh-failed";
      readonly connection: string;
      readonly error: McpSessionError;
    }
  | { readonly type: "refresh-refused"; readonly connection: string }
  | { readonly type: "refresh-lost"; readonly connection: string; readonly reason: RefreshLoss }
  | { readonly type: "registered"; readonly issuer: string }
  | { readonly type: "signed-out"; readonly connection: string; readonly isRevoked: boolean }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "unknown-path"; readonly paths: readonly string[] };

export const refreshLosses = ["process-ended", "timeout", "connection-broken", "gateway"] as const;

/** Why nobody has read the answer to a refresh. `gateway`: a 5xx or a page came in its place. */
export type RefreshLoss = (typeof refreshLosses)[number];

/**
 * Why a sign-in did not come to its end.
 *
 * - `unknown`: no sign-in of this user has this state: it is forged, somebody else's, or was used before.
 * - `expired`: it was started more than ten minutes ago.
 * - `forged`: the answer is not from the authorization server that was asked: another issuer, none where one was
 *   promised, or wrong parameters.
 * - `denied`: the user, or the authorization server, did not agree.
 * - `not-exchanged`: the authorization server gave no tokens for the code.
 * - `signed-out`: the user signed out meanwhile.
 * - `not-started`: the sign-in could not begin: the server's authorization server was not found, or is not allowed.
 */
export type SignInRefusal =
  | "unknown"
  | "expired"
  | "forged"
  | "denied"
  | "not-exchanged"
  | "signed-out"
  | "not-started";
