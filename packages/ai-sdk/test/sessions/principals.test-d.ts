import { expectTypeOf, test } from "vitest";
import {
  type createConnectionProvider,
  createPrincipals,
  type Principal,
} from "../../src/index.ts";

declare const provider: ReturnType<typeof createConnectionProvider>;

test("the issuer of users is said once, or each time", () => {
  const { user } = createPrincipals({ issuer: "https://shop.example" });
  expectTypeOf(user("42")).toExtend<Principal>();
  expectTypeOf(user("42").issuer).toEqualTypeOf<string>();
  const use = () => {
    void provider.create({ principal: user("42") });
    // @ts-expect-error a user without an issuer is nobody
    void provider.create({ principal: { type: "user", id: "42" } });
    // @ts-expect-error an id is text
    void user(42);
    // @ts-expect-error nobody's users
    void createPrincipals({});
  };
  expectTypeOf(use).toBeFunction();
});
