import type { Guard } from "../guard/guarded-fetch.ts";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import type { Client } from "../protocol/client.ts";
import type { TokenBinding, TokenOutcome } from "../protocol/token-request.ts";
import type { GrantRecord } from "../records/grant-record.ts";
import type { RefusedUse, refusedHere } from "./ask-for-tokens.ts";
import type { Unasked } from "./asked-tokens.ts";
import type { OAuthContext } from "./oauth-context.ts";

/** A request for tokens that needs no consent of a user at the authorization server. */
export interface OwnRequest {
  readonly use: RefusedUse;
  readonly record: GrantRecord | undefined;
  readonly server: AuthorizationServer;
  /** The MCP server's identifier. */
  readonly resource: string;
  /** Those that the MCP server's metadata names. */
  readonly scopesSupported?: readonly string[] | undefined;
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly dpop: TokenBinding | undefined;
}

/** What came of it; with the client and the scopes that were asked for, unless nothing was sent. */
type OwnOutcome =
  | Unasked
  | typeof refusedHere
  | {
      readonly type: "asked";
      readonly outcome: TokenOutcome;
      readonly client: Client;
      readonly scopes: readonly string[];
    };

export type AskOwn = (context: OAuthContext, request: OwnRequest) => Promise<OwnOutcome>;
