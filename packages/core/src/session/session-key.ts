import { checkText } from "../base/check-option.ts";
import { type Principal, principalParts } from "./principal.ts";

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
export function sessionKey({
  connection,
  principal,
}: {
  connection: string;
  principal: Principal;
}): string {
  checkText(connection, "connection");
  return JSON.stringify([connection, ...principalParts(principal)]);
}
