import type { BearerChallenge } from "@durable-mcp/core/internal";

/** What a server refused, and why. */
export interface RefusedToken {
  /** The token that was sent, if any. */
  readonly token?: string | undefined;
  /** 403: the token has too few scopes. */
  readonly status: 401 | 403;
  /** Of the answer's `WWW-Authenticate`. */
  readonly challenge?: BearerChallenge | undefined;
}
