import { type Principal, principalParts } from "./principal.ts";

const start = JSON.stringify([null, "oauth", "oauth/"]).slice(0, -2);

type OAuthRecordKind = "grant" | "sign-in" | "client" | "nonces";

/** The keys of the records of `@durable-mcp/oauth`. No connection has a slash in its name, so no session has such a key. */
export const oauthKeys = {
  of: (kind: OAuthRecordKind, id: string, principal: Principal): string =>
    JSON.stringify([null, "oauth", `oauth/${kind}/${id}`, ...principalParts(principal)]),
  /** How the keys of all grants begin. */
  grants: `${start}grant/`,
  has: (key: string): boolean => key.startsWith(start),
  /** The kind and the id in a key, whose principal may be a fingerprint; `undefined` for any other key. */
  parse(key: string): { readonly kind: OAuthRecordKind; readonly id: string } | undefined {
    if (!oauthKeys.has(key)) return undefined;
    try {
      const [, , slot] = JSON.parse(key) as unknown[];
      const [, kind, id] = /^oauth\/(grant|sign-in|client|nonces)\/(.*)$/s.exec(String(slot)) ?? [];
      return id === undefined ? undefined : { kind: kind as OAuthRecordKind, id };
    } catch {
      return undefined;
    }
  },
};
