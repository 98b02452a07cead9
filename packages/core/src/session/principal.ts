import { checkText, invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";

/**
 * On whose behalf a connection is used.
 *
 * - `user`: one user of one identity provider; `id` is unique within `issuer`.
 * - `app`: the application itself; its sessions are shared by all of its users on purpose.
 * - `anonymous`: nobody in particular, said explicitly.
 */
export type Principal =
  | { readonly type: "user"; readonly issuer: string; readonly id: string }
  | { readonly type: "app" }
  | { readonly type: "anonymous" };

/**
 * The parts that name a principal, for use in a structural key.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED` when there is none,
 *   `CONNECTION_INVALID` when it does not have one of the three shapes.
 */
export function principalParts(principal: Principal | undefined): string[] {
  if (principal === undefined || principal === null) {
    throw new McpSessionError(
      "PRINCIPAL_REQUIRED",
      'No principal was given. Pass { type: "user", issuer, id }, { type: "app" }, or { type: "anonymous" } to share on purpose.',
      { data: { field: "principal" } },
    );
  }
  switch (principal.type) {
    case "user":
      checkText(principal.issuer, "principal.issuer");
      checkText(principal.id, "principal.id");
      return ["user", principal.issuer, principal.id];
    case "app":
    case "anonymous":
      return [principal.type];
    default:
      throw invalidOption("principal.type", 'must be "user", "app" or "anonymous"');
  }
}
