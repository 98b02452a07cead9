import { expect, test } from "vitest";
import { oauthKeys } from "./oauth-keys.ts";
import { sessionKey } from "./principal.ts";

const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

test.each(["grant", "sign-in", "client"] as const)("the key of a %s is read again", (kind) => {
  for (const id of ["digest", "a/b", "two\nlines"]) {
    const key = oauthKeys.of(kind, id, alice);
    expect(oauthKeys.has(key)).toBe(true);
    expect(oauthKeys.parse(key)).toEqual({ kind, id });
  }
});

test.each([
  sessionKey({ connection: "oauth", principal: alice }),
  JSON.stringify([null, "oauth", "notes", "app"]),
  JSON.stringify(["default", "oauth", "oauth/grant/digest", "app"]),
  JSON.stringify([null, "oauth", "oauth/other/digest", "app"]),
  '[null,"oauth","oauth/grant/digest',
  "",
])("%j is none", (key) => expect(oauthKeys.parse(key)).toBeUndefined());
