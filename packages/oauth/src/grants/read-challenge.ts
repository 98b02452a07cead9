import { scrubText } from "@durable-mcp/core/internal";
import type { RefusedToken } from "../base/refused-token.ts";
import { splitScopes } from "../protocol/scopes-to-ask.ts";

/** What a server asks for when it refuses a token. */
export interface Asked {
  readonly scopes: readonly string[];
  /** The URL of its metadata; `null` if it has none to name, and `undefined` if it did not say. */
  readonly resourceMetadata?: string | null | undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3 */
const scopeWord = /^[!#-[\]-~]{1,256}$/;

/**
 * Reads a challenge. It is kept, listed, told in events, and sent to another server, so what is no scope is left out,
 * and so is what repeats the token.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 */
export function readChallenge({ challenge, status, token }: RefusedToken): Asked {
  if (challenge === undefined) return { scopes: [] };
  const isSafe = (text: string) => scrubText(text, [token ?? ""], "") === text;
  const scopes = splitScopes(challenge.scope ?? "");
  const { resourceMetadata } = challenge;
  const isNamed = resourceMetadata !== undefined && isSafe(resourceMetadata);
  return {
    scopes: scopes.filter((scope) => scopeWord.test(scope) && isSafe(scope)),
    // A 403 for scopes need not repeat it.
    resourceMetadata: isNamed ? resourceMetadata : status === 401 ? null : undefined,
  };
}
