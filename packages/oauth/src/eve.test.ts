import { expect, test } from "vitest";
import { ada, ben, createApplication, errorOf, redirectUrl } from "../test/application.ts";
import { startProtectedServer } from "../test/protected-server.ts";
import { signInByHand } from "../test/scripted-user.ts";
import { resourceScopes, startAuthorizationServer } from "../test/start-authorization-server.ts";
import { createEveAuthorization } from "./eve.ts";

/** eve mints another one for each sign-in. */
const callbackUrlOf = (attempt: number) =>
  `https://agent.example/eve/v1/connections/notes/callback/${attempt}/session-1`;
const required = { name: "ConnectionAuthorizationRequiredError", connectionName: "notes" };
const failed = { name: "ConnectionAuthorizationFailedError", connectionName: "notes" };

/** For sign-ins that say nothing of where to go. */
const onSignedIn = () => "https://app.example/done";

async function startEve() {
  const { issuer, requests } = await startAuthorizationServer();
  const { url } = await startProtectedServer([issuer], resourceScopes);
  const app = createApplication({ url: url.href, onSignedIn });
  const auth = createEveAuthorization(app.oauth, { connection: "notes", displayName: "Notes" });
  const use = { principal: ada, connection: { url: url.href } };
  const start = async (attempt = 1) =>
    await auth.startAuthorization({ ...use, callbackUrl: callbackUrlOf(attempt) });
  const visit = async (challengeUrl: string, does: "consent" | "cancel" = "consent", user = ada) =>
    await app.callback(await signInByHand(new URL(challengeUrl), redirectUrl, does), user);
  const complete = async (location: string | null) =>
    await auth.completeAuthorization({
      ...use,
      callback: { params: Object.fromEntries(new URL(location!).searchParams) },
    });
  return { app, auth, use, start, visit, complete, requests };
}

/** A user who has signed in, and the token that eve has. */
async function signedIn() {
  const eve = await startEve();
  const { challenge } = await eve.start();
  const back = await eve.visit(challenge.url);
  const { token } = await eve.complete(back.headers.get("location"));
  return { ...eve, token };
}

test("a user signs in from eve's link, with one registration for all callback URLs", async () => {
  const { app, auth, use, start, visit, complete, requests } = await startEve();
  expect(await errorOf(auth.getToken(use))).toMatchObject(required);
  const before = Date.now();
  const { challenge } = await start();
  expect(challenge.displayName).toBe("Notes");
  expect(Date.parse(challenge.expiresAt)).toBeGreaterThanOrEqual(before + 600_000);
  const back = await visit(challenge.url);
  expect(back.status).toBe(303);
  // Nothing of the sign-in goes there.
  expect(back.headers.get("location")).toBe(callbackUrlOf(1));
  const first = await complete(back.headers.get("location"));
  expect(await auth.getToken(use)).toEqual(first);
  expect(first).toEqual({ token: expect.any(String), expiresAt: expect.any(Number) });

  await app.oauth.signOut({ principal: ada, connection: "notes" });
  expect(await errorOf(auth.getToken(use))).toMatchObject(required);
  const again = await visit((await start(2)).challenge.url);
  expect(again.headers.get("location")).toBe(callbackUrlOf(2));
  expect((await complete(callbackUrlOf(2))).token).not.toBe(first.token);
  expect(requests().filter((url) => url === "/reg")).toHaveLength(1);
});

test("what was refused is renewed once, and the model is told to call again", async () => {
  const { app, auth, use, start, token, requests } = await signedIn();
  const asked = requests().length;
  // Two steps of this process, and one of another one.
  auth.evict(use);
  auth.evict(use);
  const elsewhere = createEveAuthorization(app.next().oauth, { connection: "notes" });
  expect((await elsewhere.getToken(use)).token).toBe(token);
  elsewhere.evict(use);
  const [error, other] = await Promise.all([errorOf(start()), elsewhere.getToken(use)]);
  expect(error).toMatchObject({ ...failed, reason: "token_renewed", retryable: true });
  expect(error.message).toContain("make the same call again");
  const renewed = await auth.getToken(use);
  expect(renewed.token).not.toBe(token);
  expect(other).toEqual(renewed);
  expect(requests().slice(asked)).toEqual(["/token"]);
});

test("a server that refuses the renewed token as well needs the user", async () => {
  const { auth, use, start, visit, complete, requests } = await signedIn();
  auth.evict(use);
  await errorOf(start());
  auth.evict(use);
  const asked = requests().length;
  const { challenge } = await start(2);
  const back = await visit(challenge.url);
  const { token } = await complete(back.headers.get("location"));
  expect(await auth.getToken(use)).toMatchObject({ token });
  expect(
    requests()
      .slice(asked)
      .filter((url) => url === "/token"),
  ).toHaveLength(1);
});

test("a user who cancels goes back to eve, which does not ask again", async () => {
  const { start, visit, complete } = await startEve();
  const back = await visit((await start()).challenge.url, "cancel");
  const location = back.headers.get("location");
  expect(location).toBe(`${callbackUrlOf(1)}?error=access_denied`);
  expect(await errorOf(complete(location))).toMatchObject({
    ...{ ...failed, reason: "access_denied", retryable: false },
  });
});

test("nobody finishes the sign-in of another user, and a callback without one brings nothing", async () => {
  const { start, visit, complete } = await startEve();
  const { challenge } = await start();
  const refused = await visit(challenge.url, "consent", ben as never);
  expect([refused.status, refused.headers.get("location")]).toEqual([403, null]);
  expect(await errorOf(complete(callbackUrlOf(1)))).toMatchObject({
    ...{ ...failed, reason: "sign_in_failed", retryable: true },
  });
});

test("a user is one of an issuer", async () => {
  const { app, auth, use } = await signedIn();
  const { issuer: _, ...principal } = ada;
  const error = await errorOf(auth.getToken({ ...use, principal }));
  expect(error).toMatchObject({ ...failed, reason: "principal_required", retryable: false });
  const own = createEveAuthorization(() => app.oauth, { connection: "notes", issuer: ada.issuer });
  expect((await own.getToken({ ...use, principal })).token).toEqual(expect.any(String));
  await expect(auth.getToken({ ...use, principal: { type: "app" } })).rejects.toThrow(/no user/);
});
