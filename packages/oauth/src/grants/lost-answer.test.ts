import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startProtectedServer } from "../../test/protected-server.ts";
import { signInByHand } from "../../test/scripted-user.ts";
import { startAuthorizationServer } from "../../test/start-authorization-server.ts";
import { createOAuth } from "../create-oauth.ts";

const principal: Principal = { type: "user", issuer: "https://idp.test", id: "ada" };
const redirectUrl = "http://127.0.0.1:10239/callback";
const hour = 3_600_000;

test("says that tokens were lost, when the answer to a refresh was lost with its process", async () => {
  const { issuer, requests } = await startAuthorizationServer();
  const { url } = await startProtectedServer([issuer], ["notes:read"]);
  const store = createMemoryStore();
  const events: string[] = [];
  const newProcess = (aheadMs: number, own: SessionStore = store) =>
    createOAuth({
      ...{ store: own, redirectUrl, keys: "store tokens unencrypted" },
      now: () => Date.now() + aheadMs,
      onEvent: ({ type }) => void events.push(type),
    });
  const use = { principal, connection: "notes", url: url.href };
  const started = await newProcess(0).start(new Request("http://127.0.0.1:10239/start"), use);
  const authorizationUrl = new URL(started.headers.get("location")!);
  const callback = await signInByHand(authorizationUrl, redirectUrl);
  await newProcess(0).callback(new Request(callback), { principal });

  // It has the answer, and ends before it has saved it.
  const { promise: ending, resolve: ends } = Promise.withResolvers<void>();
  let puts = 0;
  const put: SessionStore["put"] = async (...args) => {
    puts += 1;
    // It claims the refresh, and notes that it asks.
    if (puts <= 2) return await store.put(...args);
    ends();
    return await new Promise(() => {});
  };
  void newProcess(hour, { ...store, put }).getToken(use);
  await ending;

  events.length = 0;
  const next = newProcess(hour + 31_000).getToken(use);
  await expect(next).rejects.toMatchObject({
    code: "AUTHORIZATION_REQUIRED",
    message: expect.stringContaining("The tokens of the last sign-in were lost"),
  });
  expect(events).toEqual(["refresh-lost", "authorization-required"]);
  expect(requests().filter((path) => path === "/token")).toHaveLength(2);
});
