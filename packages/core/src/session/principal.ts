import { checkOptions, checkText, invalidOption } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";

/**
 * The identity that a connection acts for.
 *
 * - `user`: one user of one identity provider; `id` is unique within `issuer`.
 * - `app`: the application itself; all of its users share its sessions on purpose.
 * - `anonymous`: no identity; you must opt in to it explicitly.
 */
export type Principal =
  | { readonly type: "user"; readonly issuer: string; readonly id: string }
  | { readonly type: "app" }
  | { readonly type: "anonymous" };

/** Principals of one issuer. Made by `createPrincipals`. */
export interface Principals {
  /** @throws {McpSessionError} `CONNECTION_INVALID` for an id that is not a string, or empty */
  readonly user: (id: string) => Principal & { readonly type: "user" };
}

/**
 * Makes principals of one issuer, for an application with one login.
 *
 * @param options `issuer` names the login, such as the application's own URL. Never change it: it is a part of each
 *   session's key
 *
 * @example
 * const { user } = createPrincipals({ issuer: "https://shop.example" });
 * user("42") // { type: "user", issuer: "https://shop.example", id: "42" }
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createPrincipals(options: { readonly issuer: string }): Principals {
  checkOptions(options, { issuer: checkText });
  const { issuer } = options;
  checkText(issuer, "issuer");
  return {
    user: (id) => {
      checkText(id, "principal.id");
      return { type: "user", issuer, id };
    },
  };
}

/**
 * The parts that name a principal, for a structural key.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED` without a principal,
 *   `CONNECTION_INVALID` for one of another shape.
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

/**
 * The key of one connection and principal, for state and stores. It is a JSON array of its parts, so no
 * choice of names or ids can make two keys collide.
 *
 * @example
 * sessionKey({ connection: "browser", principal: { type: "user", issuer: "https://idp", id: "42" } })
 * // '["browser","user","https://idp","42"]'
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED` or `CONNECTION_INVALID`
 */
export function sessionKey(key: { connection: string; principal: Principal }): string {
  const { connection, principal } = key;
  checkText(connection, "connection");
  return JSON.stringify([connection, ...principalParts(principal)]);
}
