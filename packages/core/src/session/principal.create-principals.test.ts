import { expect, test } from "vitest";
import { createPrincipals, sessionKey } from "./principal.ts";

test("makes users of an issuer that is said once, with the keys of such users", () => {
  const { user } = createPrincipals({ issuer: "https://shop.example" });
  const alice = { type: "user", issuer: "https://shop.example", id: "alice" } as const;
  expect(user("alice")).toEqual(alice);
  const key = sessionKey({ connection: "cart", principal: alice });
  expect(sessionKey({ connection: "cart", principal: user("alice") })).toBe(key);
});

test.each<[unknown, string]>([
  [{}, "issuer"],
  [{ issuer: "" }, "issuer"],
  [{ issuer: 5 }, "issuer"],
  [{ issuer: "i", issuers: [] }, "issuers"],
  ["https://shop.example", "options"],
  [undefined, "options"],
])("refuses %j", (options, field) => {
  expect(() => createPrincipals(options as never)).toThrow(
    expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
  );
});

test.each([undefined, null, "", 42])("makes nobody of the id %j", (id) => {
  const { user } = createPrincipals({ issuer: "i" });
  expect(() => user(id as never)).toThrow(
    expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "principal.id" } }),
  );
});
