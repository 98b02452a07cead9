import { expect, test } from "vitest";
import { ada, createClock, errorOf } from "../../test/application.ts";
import { signedIn } from "../../test/signed-in.ts";

type Signed = Awaited<ReturnType<typeof signedIn>>;

const refusal = (token: string | undefined, scope: string) =>
  ({ status: 403, token, challenge: { error: "insufficient_scope", scope } }) as const;

/** The server refuses the token for its scopes. */
const meet = async ({ app }: Signed, scope: string) => {
  const token = (await app.getToken())?.token;
  return await errorOf(app.getToken({ refused: refusal(token, scope) }));
};

const scopesOf = (authorizationUrl: string) =>
  new URL(authorizationUrl).searchParams.get("scope")?.split(" ");

test("asks for the union of the granted scopes and the challenge's", async () => {
  const it = await signedIn({ grants: "notes:read" });
  const { code, data } = await meet(it, "notes:delete notes:read");
  expect(code).toBe("AUTHORIZATION_REQUIRED");
  expect(data.scopes).toEqual(["notes:read", "notes:delete"]);
  expect(await it.app.oauth.authorizationFor(it.app.use)).toMatchObject({
    scopes: ["notes:read", "notes:delete"],
  });
  expect(await it.app.oauth.list({ principal: ada })).toMatchObject([{ isMoreNeeded: true }]);
  expect(it.server.refreshes()).toHaveLength(0);

  const authorizationUrl = await it.app.begin();
  expect(scopesOf(authorizationUrl)).toEqual(["notes:read", "notes:delete"]);
  it.server.rules.grants = undefined;
  await it.app.callback(it.server.consent(authorizationUrl));
  expect(await it.app.oauth.authorizationFor(it.app.use)).toBeUndefined();
  expect(await it.app.oauth.list({ principal: ada })).toMatchObject([
    { scopes: ["notes:read", "notes:delete"], isMoreNeeded: false },
  ]);
});

test("adds up what several calls need", async () => {
  const it = await signedIn({ grants: "notes:read" });
  await meet(it, "notes:delete");
  const { data } = await meet(it, "notes:write");
  expect(data.scopes).toEqual(["notes:read", "notes:delete", "notes:write"]);
  expect(it.app.eventsOf("authorization-required")).toHaveLength(2);
});

test("keeps on giving the token meanwhile, and refreshes it", async () => {
  const it = await signedIn({ grants: "notes:read" });
  await meet(it, "notes:delete");
  expect((await it.app.getToken())?.token).toBe(it.token);
  it.clock.offsetMs = 3_600_000;
  expect((await it.app.getToken())?.token).not.toBe(it.token);
  expect(await it.app.oauth.authorizationFor(it.app.use)).toMatchObject({
    scopes: ["notes:read", "notes:delete"],
  });
});

test("gives the token of another process that has more scopes", async () => {
  const it = await signedIn({ grants: "notes:read" });
  await meet(it, "notes:delete");
  it.server.rules.grants = undefined;
  const other = it.app.next();
  await other.callback(it.server.consent(await other.begin()));
  const more = await it.app.getToken({ refused: refusal(it.token, "notes:delete") });
  expect(more?.token).not.toBe(it.token);
  expect(await other.getToken()).toEqual(more);
});

test("counts the sign-ins, and not the calls that wait for one", async () => {
  const it = await signedIn({ grants: "notes:read" });
  for (let call = 0; call < 6; call += 1) {
    expect((await meet(it, "notes:delete")).code).toBe("AUTHORIZATION_REQUIRED");
  }
  expect(it.app.eventsOf("authorization-required")).toHaveLength(1);
});

test("leaves the refusal as it is where sign-ins do not help, for an hour", async () => {
  const it = await signedIn({ grants: "notes:read" });
  for (let each = 0; each < 3; each += 1) {
    expect((await meet(it, "notes:delete")).code).toBe("AUTHORIZATION_REQUIRED");
    await it.app.callback(it.server.consent(await it.app.begin()));
  }
  const token = (await it.app.getToken())!.token;
  const refused = refusal(token, "notes:delete");
  expect((await it.app.getToken({ refused }))?.token).toBe(token);
  expect(await it.app.oauth.authorizationFor(it.app.use)).toBeUndefined();

  const later = it.app.next({ now: createClock(3_590_000).now });
  expect((await later.getToken({ refused: refusal(token, "notes:delete") }))?.token).toBe(token);
  it.clock.offsetMs = 3_601_000;
  const fresh = (await it.app.getToken())!.token;
  expect((await errorOf(it.app.getToken({ refused: refusal(fresh, "notes:delete") }))).code).toBe(
    "AUTHORIZATION_REQUIRED",
  );
});

test("asks once more for scopes that the token has, and no second time", async () => {
  const it = await signedIn({ grants: "notes:read notes:delete" });
  expect((await meet(it, "notes:delete")).code).toBe("AUTHORIZATION_REQUIRED");
  await it.app.callback(it.server.consent(await it.app.begin()));
  const token = (await it.app.getToken())!.token;
  const refused = refusal(token, "notes:delete");
  expect((await it.app.getToken({ refused }))?.token).toBe(token);
  expect((await meet(it, "notes:write notes:delete")).data.scopes).toContain("notes:write");
});

test("keeps, tells and asks for nothing that is no scope, and a bounded number of scopes", async () => {
  const it = await signedIn({ grants: "notes:read" });
  const scope = `${it.token} "quoted" not\\one übel ${"x".repeat(300)} notes:delete see-${it.token}`;
  const { data } = await meet(it, scope);
  expect(data.scopes).toEqual(["notes:read", "notes:delete"]);
  for (let call = 0; call < 3; call += 1) {
    const many = Array.from({ length: 60 }, (_, each) => `scope-${call}-${each}`);
    await meet(it, many.join(" "));
  }
  const { scopes } = (await it.app.oauth.authorizationFor(it.app.use))!;
  expect(scopes).toHaveLength(100);
  expect(scopes.slice(0, 3)).toEqual(["notes:read", "notes:delete", "scope-0-0"]);
});
