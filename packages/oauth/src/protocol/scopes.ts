import { serverLimits } from "@durable-mcp/core/internal";
import type { AuthorizationServer } from "./authorization-server.ts";

/** What says which scopes a sign-in is for. */
export interface ScopeSources {
  /** The scopes that a refusal of the MCP server asks for. They count before all others. */
  readonly challenged?: readonly string[] | undefined;
  /** Those of the protected resource's metadata. */
  readonly resourceScopes?: readonly string[] | undefined;
  /** Those that are granted, or were asked for before: none of them is to be lost. */
  readonly held?: readonly string[] | undefined;
  readonly server: AuthorizationServer;
}

/**
 * The scopes to ask the user for. `offline_access` is among them where the server has it, because without it some give
 * no refresh token. Without any scope it is not: alone it would take the place of the server's own choice.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#step-up-authorization-flow
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#refresh-tokens
 */
export function scopesToAsk({
  challenged = [],
  resourceScopes = [],
  held = [],
  server,
}: ScopeSources): string[] {
  const needed = challenged.length > 0 ? challenged : resourceScopes;
  const scopes = readScopes([...held, ...needed]);
  const givesOffline = server.scopes_supported?.includes("offline_access") === true;
  const isMissing = !scopes.includes("offline_access");
  return scopes.length > 0 && givesOffline && isMissing ? [...scopes, "offline_access"] : scopes;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3 */
const scopeToken = /^[!#-[\]-~]{1,256}$/;

/**
 * The scopes of a list, or of a text with spaces between them, from wherever it comes. They are kept, listed, told in
 * events, and sent to another server: what is no scope is left out, and so is what is too much.
 */
export function readScopes(given: string | readonly string[]): string[] {
  const words = typeof given === "string" ? given.split(/[ \t\r\n]+/) : given;
  const scopes = [...new Set(words)]
    .filter((word) => scopeToken.test(word))
    .slice(0, serverLimits.scopes.count);
  while (scopes.join(" ").length > serverLimits.scopes.length) scopes.pop();
  return scopes;
}
