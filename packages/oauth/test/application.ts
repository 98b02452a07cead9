import { createMemoryStore, type McpSessionError, type SessionStore } from "@durable-mcp/core";
import type { OAuthEvent } from "../src/base/oauth-event.ts";
import { createOAuth, type OAuthTokenContext } from "../src/create-oauth.ts";
import type { OAuthOptions } from "../src/oauth-options.ts";

export const ada = { type: "user", issuer: "https://login.example", id: "ada" } as const;
export const ben = { type: "user", issuer: "https://login.example", id: "ben" } as const;
export const redirectUrl = "http://127.0.0.1:3999/oauth/callback";

/** A clock that a test moves. */
export function createClock(offsetMs = 0) {
  const clock = {
    offsetMs,
    /** Where it stands still, so that a busy machine does not count. */
    stoppedAt: undefined as number | undefined,
    now: () => (clock.stoppedAt ?? Date.now()) + clock.offsetMs,
  };
  return clock;
}

/** A process of an application: one `createOAuth`, and what it tells. */
export function createApplication({
  url,
  store = createMemoryStore(),
  ...options
}: { readonly url: string } & Partial<Omit<OAuthOptions, "onEvent">>) {
  const events: OAuthEvent[] = [];
  const keys = { current: crypto.getRandomValues(new Uint8Array(32)) };
  const all: OAuthOptions = {
    ...{ store, keys, redirectUrl, timeoutMs: 8_000 },
    ...options,
  };
  const oauth = createOAuth({ ...all, onEvent: (event) => events.push(event) });
  const use = { principal: ada, connection: "notes", url } as const;
  const getToken = async (more: Partial<OAuthTokenContext> = {}) =>
    await oauth.getToken({ ...use, ...more });
  return {
    ...{ oauth, events, store, use, getToken, options: all },
    /** Another process of it. */
    next: (more: Partial<Omit<OAuthOptions, "onEvent">> = {}) =>
      createApplication({ url, ...all, ...more }),
    /** Begins a sign-in. @returns the authorization URL */
    async begin(more: { principal?: typeof ada | typeof ben; url?: string } = {}) {
      const own = { ...use, ...more };
      const response = await oauth.start(new Request(redirectUrl), own);
      const location = response.headers.get("location");
      if (location === null) throw new Error(`No sign-in: ${await response.text()}`);
      return location;
    },
    async callback(callbackUrl: string | URL, principal: typeof ada | typeof ben = ada) {
      return await oauth.callback(new Request(callbackUrl), { principal });
    },
    eventsOf: <TYPE extends OAuthEvent["type"]>(type: TYPE) =>
      events.filter((event): event is Extract<OAuthEvent, { type: TYPE }> => event.type === type),
  };
}

/** All that a store holds. */
export async function contentOf(store: SessionStore) {
  const { records } = await store.list({ limit: 1_000 });
  return records.map(({ key, owner, value, revision, expiresAt }) => ({
    ...{ key, owner, value, revision, expiresAt },
  }));
}

/** The error of a promise that has to reject. */
export async function errorOf(work: Promise<unknown>): Promise<McpSessionError> {
  const [result] = await Promise.allSettled([work]);
  if (result.status === "rejected") return result.reason as McpSessionError;
  throw new Error("It did not reject.");
}
