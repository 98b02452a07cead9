import { createScrubber } from "@durable-mcp/core/internal";
import type { RefusedToken } from "../base/refused-token.ts";
import { readScopes } from "../protocol/scopes.ts";

/** What a server asks for when it refuses a token. */
export interface Asked {
  readonly scopes: readonly string[];
  /** The URL of its metadata; `null` if it has none to name, and `undefined` if it did not say. */
  readonly resourceMetadata?: string | null | undefined;
  /** Whether it takes tokens that are bound to a key. */
  readonly takesProofs?: true | undefined;
}

/**
 * Reads a challenge, without what repeats the token.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 */
export function readChallenge({ challenge, status, token }: RefusedToken): Asked {
  if (challenge === undefined) return { scopes: [] };
  const scrub = createScrubber([token ?? ""], "");
  const isSafe = (text: string) => scrub(text) === text;
  const scopes = readScopes(challenge.scope ?? "");
  const { resourceMetadata, takesProofs } = challenge;
  const isNamed = resourceMetadata !== undefined && isSafe(resourceMetadata);
  return {
    scopes: scopes.filter(isSafe),
    // A 403 for scopes need not repeat it.
    resourceMetadata: isNamed ? resourceMetadata : status === 401 ? null : undefined,
    takesProofs,
  };
}
