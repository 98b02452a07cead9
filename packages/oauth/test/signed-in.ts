import type { SessionStore } from "@durable-mcp/core";
import { expect } from "vitest";
import type { OAuthOptions } from "../src/oauth-options.ts";
import type { GrantRecord } from "../src/records/grant-record.ts";
import { contentOf, createApplication, createClock } from "./application.ts";
import { type HandMadeRules, startHandMadeServer } from "./hand-made-server.ts";

/** For tests that look into the store. */
export const unencrypted = "store tokens unencrypted";

/** An application whose user has signed in, and a clock to let tokens expire. */
export async function signedIn(
  rules: Partial<HandMadeRules> = {},
  options: Partial<Omit<OAuthOptions, "onEvent">> = {},
) {
  const server = await startHandMadeServer(rules);
  const clock = createClock();
  const app = createApplication({ url: server.url, now: clock.now, ...options });
  await app.callback(server.consent(await app.begin()));
  const { token } = (await app.getToken())!;
  return { server, clock, app, token };
}

/** The grant's record of an unencrypted store. */
export async function grantOf(store: SessionStore) {
  const all = await contentOf(store);
  const found = all.find(({ key }) => key.includes("oauth/grant/"))!;
  return { ...found, record: found.value as unknown as GrantRecord };
}

/** Writes fields of it, as another process would. */
export async function changeGrant(store: SessionStore, changes: Partial<GrantRecord>) {
  const { key, owner, revision, record } = await grantOf(store);
  const value = JSON.parse(JSON.stringify({ ...record, ...changes }));
  expect((await store.put(key, value, revision, { owner })).ok).toBe(true);
}
