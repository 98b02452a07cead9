import { type Principal, principalParts } from "./principal.ts";

const start = JSON.stringify([null, "oauth", "oauth/"]).slice(0, -2);

/** The key of a record of `@durable-mcp/oauth`. No connection has a slash in its name, so no session has such a key. */
export function oauthKey(
  kind: "grant" | "sign-in" | "client",
  id: string,
  principal: Principal,
): string {
  return JSON.stringify([null, "oauth", `oauth/${kind}/${id}`, ...principalParts(principal)]);
}

/** The start of the keys of all grants. */
export const grantPrefix = `${start}grant/`;

export function isOAuthKey(key: string): boolean {
  return key.startsWith(start);
}
