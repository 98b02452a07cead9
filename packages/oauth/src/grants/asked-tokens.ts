import type { McpSessionError } from "@durable-mcp/core";
import type { TokenOutcome } from "../protocol/token-request.ts";
import type { GrantTokens } from "../records/grant-record.ts";

/**
 * Asks an authorization server for new tokens. It takes `timeoutMs` at most.
 *
 * @param mark to be called before a refresh token is sent; `false`: another process has the lease by now
 */
export type AskForTokens = (
  before: GrantTokens | undefined,
  mark: () => Promise<boolean>,
) => Promise<
  | Exclude<TokenOutcome, { type: "tokens" }>
  | { readonly type: "overtaken" }
  | Unasked
  | {
      readonly type: "tokens";
      readonly tokens: GrantTokens;
      readonly undo: () => Promise<unknown>;
      /** They have all that the user was to be asked for. */
      readonly isWhole?: boolean;
    }
>;

/** There is no token in this way. */
export type Unasked =
  | Denied
  /** The user may still sign in at the server. */
  | { readonly type: "not-offered" }
  | LoginRequired;

/** Whoever signs in, there is none. */
export interface Denied {
  readonly type: "denied";
  readonly error: McpSessionError;
}

/** The user is to log in at the company. `refusedIdToken`: the digest of an ID token that is over. */
export interface LoginRequired {
  readonly type: "login-required";
  readonly refusedIdToken?: string | undefined;
}
