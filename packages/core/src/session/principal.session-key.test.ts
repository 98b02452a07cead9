import fc from "fast-check";
import { expect, test } from "vitest";
import { type Principal, sessionKey } from "./principal.ts";

test("is readable: a JSON array of the parts", () => {
  const principal: Principal = { type: "user", issuer: "https://idp", id: "42" };
  expect(sessionKey({ connection: "browser", principal })).toBe(
    '["browser","user","https://idp","42"]',
  );
  expect(sessionKey({ connection: "browser", principal: { type: "app" } })).toBe(
    '["browser","app"]',
  );
});

// Texts that would collide if the parts were joined with a separator.
const part = fc.string({
  unit: fc.constantFrom("a", ",", '"', "\\", ":", "[", "user", "\uD800"),
  minLength: 1,
  maxLength: 4,
});
const principal: fc.Arbitrary<Principal> = fc.oneof(
  fc.record({ type: fc.constant("user" as const), issuer: part, id: part }),
  fc.constantFrom<Principal>({ type: "app" }, { type: "anonymous" }),
);
const keyInput = fc.record({ connection: part, principal });

test("is the same for equal parts and different for all others", () => {
  fc.assert(
    fc.property(keyInput, keyInput, (a, b) => {
      const isEqual =
        a.connection === b.connection &&
        JSON.stringify(Object.values(a.principal)) === JSON.stringify(Object.values(b.principal));
      expect(sessionKey(a) === sessionKey(b)).toBe(isEqual);
      expect(sessionKey(structuredClone(a))).toBe(sessionKey(a));
    }),
    { numRuns: 2000 },
  );
});

test("does not depend on the order or number of the principal's fields", () => {
  const odd = { id: "42", role: "admin", issuer: "i", type: "user" } as Principal;
  expect(sessionKey({ connection: "c", principal: odd })).toBe('["c","user","i","42"]');
});

test.each([
  ["no principal", { connection: "c" }, "PRINCIPAL_REQUIRED", "principal"],
  ["a null principal", { connection: "c", principal: null }, "PRINCIPAL_REQUIRED", "principal"],
  [
    "an unknown type",
    { connection: "c", principal: { type: "root" } },
    "CONNECTION_INVALID",
    "principal.type",
  ],
  [
    "a principal that is text",
    { connection: "c", principal: "42" },
    "CONNECTION_INVALID",
    "principal.type",
  ],
  [
    "a user without issuer",
    { connection: "c", principal: { type: "user", id: "42" } },
    "CONNECTION_INVALID",
    "principal.issuer",
  ],
  [
    "a user with an empty id",
    { connection: "c", principal: { type: "user", issuer: "i", id: "" } },
    "CONNECTION_INVALID",
    "principal.id",
  ],
  [
    "a user whose id is a number",
    { connection: "c", principal: { type: "user", issuer: "i", id: 42 } },
    "CONNECTION_INVALID",
    "principal.id",
  ],
  [
    "an empty connection",
    { connection: "", principal: { type: "app" } },
    "CONNECTION_INVALID",
    "connection",
  ],
  ["no connection", { principal: { type: "app" } }, "CONNECTION_INVALID", "connection"],
])("refuses %s", (_, input, code, field) => {
  expect(() => sessionKey(input as never)).toThrow(
    expect.objectContaining({ code, data: expect.objectContaining({ field }) }),
  );
});
