import { expect, test } from "vitest";
import { isOAuthKey, oauthKey, parseOAuthKey, sessionKey } from "./principal.ts";

const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

test.each(["grant", "sign-in", "client"] as const)("the key of a %s is read again", (kind) => {
  for (const id of ["digest", "a/b", "two\nlines"]) {
    const key = oauthKey(kind, id, alice);
    expect(isOAuthKey(key)).toBe(true);
    expect(parseOAuthKey(key)).toEqual({ kind, id });
  }
});

test.each([
  sessionKey({ connection: "oauth", principal: alice }),
  JSON.stringify([null, "oauth", "notes", "app"]),
  JSON.stringify(["default", "oauth", "oauth/grant/digest", "app"]),
  JSON.stringify([null, "oauth", "oauth/other/digest", "app"]),
  '[null,"oauth","oauth/grant/digest',
  "",
])("%j is none", (key) => expect(parseOAuthKey(key)).toBeUndefined());
