import { type Principal, principalParts } from "./principal.ts";

const start = JSON.stringify([null, "oauth", "oauth/"]).slice(0, -2);

type OAuthRecordKind = "grant" | "sign-in" | "client";

/** The key of a record of `@durable-mcp/oauth`. No connection has a slash in its name, so no session has such a key. */
export function oauthKey(kind: OAuthRecordKind, id: string, principal: Principal): string {
  return JSON.stringify([null, "oauth", `oauth/${kind}/${id}`, ...principalParts(principal)]);
}

/** The start of the keys of all grants. */
export const grantPrefix = `${start}grant/`;

export function isOAuthKey(key: string): boolean {
  return key.startsWith(start);
}

/** The kind and the id in a key, whose principal may be a fingerprint; `undefined` for any other key. */
export function parseOAuthKey(
  key: string,
): { readonly kind: OAuthRecordKind; readonly id: string } | undefined {
  if (!isOAuthKey(key)) return undefined;
  try {
    const [, , slot] = JSON.parse(key) as unknown[];
    const [, kind, id] = /^oauth\/(grant|sign-in|client)\/(.*)$/s.exec(String(slot)) ?? [];
    return id === undefined ? undefined : { kind: kind as OAuthRecordKind, id };
  } catch {
    return undefined;
  }
}
