import { createMemoryStore, McpSessionError, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import {
  ada,
  ben,
  contentOf,
  createApplication,
  createClock,
  redirectUrl,
} from "../../test/application.ts";
import { type HandMadeRules, startHandMadeServer } from "../../test/hand-made-server.ts";
import type { SignInRefusal } from "../base/oauth-event.ts";
import type { OAuthOptions } from "../oauth-options.ts";

async function begun(
  rules: Partial<HandMadeRules> = {},
  options: Partial<Omit<OAuthOptions, "onEvent">> = {},
) {
  const server = await startHandMadeServer(rules);
  const app = createApplication({ url: server.url, ...options });
  const callback = server.consent(await app.begin());
  return { server, app, callback };
}

type Begun = Awaited<ReturnType<typeof begun>>;

const changed = (url: URL, change: (parameters: URLSearchParams) => void) => {
  const copy = new URL(url);
  change(copy.searchParams);
  return copy;
};

const expectSafe = async (response: Response) => {
  const { headers } = response;
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = headers.get("content-security-policy")!;
  for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'none'"]) {
    expect(policy).toContain(rule);
  }
  expect(policy).not.toMatch(/script-src|unsafe/);
  return await response.text();
};

/** A callback that must change nothing that is stored, and after which the sign-in still comes to its end. */
async function expectRefused(
  { server, app, callback }: Begun,
  forged: string | URL,
  [status, reason, why = ""]: readonly [number, SignInRefusal, why?: string],
  principal: typeof ada | typeof ben = ada,
) {
  const before = await contentOf(app.store);
  const response = await app.callback(forged, principal);
  expect(response.status).toBe(status);
  const page = await expectSafe(response);
  expect(await contentOf(app.store)).toEqual(before);
  expect(server.tokenRequests).toEqual([]);
  expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason }]);
  const values = [...new URL(forged).searchParams.values()].filter((value) => value !== "");
  expect(values.filter((value) => page.includes(value))).toEqual([]);
  expect((await app.callback(callback)).status).toBe(200);
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  const [event] = app.eventsOf("sign-in-refused");
  expect(event!.error?.message ?? "").toContain(why);
  return event!;
}

test("brings tokens, and a page that says so", async () => {
  const { server, app, callback } = await begun({ grants: "notes:read" });
  const response = await app.callback(callback);
  expect(response.status).toBe(200);
  expect(await expectSafe(response)).toContain("You are signed in");
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(app.eventsOf("signed-in")).toEqual([
    { type: "signed-in", connection: "notes", issuer: server.issuer },
  ]);
  expect(server.tokenRequests[0]!.parameters.get("resource")).toBe(server.url);
  expect((await contentOf(app.store)).filter(({ key }) => key.includes("oauth/sign-in/"))).toEqual(
    [],
  );
});

const unknown = [403, "unknown"] as const;
const forged = (why: string) => [403, "forged", why] as const;
const otherIssuer = forged("it names another issuer");
const noAnswer = forged("its parameters are not those of an answer to this sign-in");

test.each([
  ["no state", unknown, (url: URLSearchParams) => url.delete("state")],
  ["another state", unknown, (url: URLSearchParams) => url.set("state", "made-up-state")],
  ["its state twice", unknown, (url: URLSearchParams) => url.append("state", url.get("state")!)],
  ["a huge state", unknown, (url: URLSearchParams) => url.set("state", "x".repeat(1_000_000))],
  ["another issuer", otherIssuer, (url: URLSearchParams) => url.set("iss", "https://evil.example")],
  [
    "its issuer and a slash",
    otherIssuer,
    (url: URLSearchParams) => url.set("iss", `${url.get("iss")}/`),
  ],
  [
    "its issuer in capitals",
    otherIssuer,
    (url: URLSearchParams) => url.set("iss", url.get("iss")!.toUpperCase()),
  ],
  ["an empty issuer", forged("its `iss` is empty"), (url: URLSearchParams) => url.set("iss", "")],
  ["two issuers", otherIssuer, (url: URLSearchParams) => url.append("iss", "https://evil.example")],
  [
    "no issuer, where one is announced",
    forged("does not name its issuer"),
    (url: URLSearchParams) => url.delete("iss"),
  ],
  [
    "two codes",
    forged("several codes"),
    (url: URLSearchParams) => url.append("code", "made-up-code"),
  ],
  ["no code", forged("no code"), (url: URLSearchParams) => url.delete("code")],
  ["an empty code", forged("no code"), (url: URLSearchParams) => url.set("code", "")],
  ["a signed response", noAnswer, (url: URLSearchParams) => url.set("response", "made-up.y.z")],
  ["an ID token", noAnswer, (url: URLSearchParams) => url.set("id_token", "made-up.y.z")],
  [
    "an error without an issuer",
    forged("does not name its issuer"),
    (url: URLSearchParams) => {
      url.delete("code");
      url.delete("iss");
      url.set("error", "access_denied");
      url.set("error_description", "words-of-an-attacker");
    },
  ],
  [
    "another issuer's error",
    otherIssuer,
    (url: URLSearchParams) => {
      url.delete("code");
      url.set("iss", "https://evil.example");
      url.set("error", "access_denied");
      url.set("error_description", "words-of-an-attacker");
    },
  ],
])("refuses a callback with %s, and changes nothing", async (_name, expected, change) => {
  const it = await begun();
  const event = await expectRefused(it, changed(it.callback, change), expected);
  expect(JSON.stringify(event)).not.toMatch(/made-up|evil\.example|words-of-an-attacker/);
});

test("refuses another user's browser, and changes nothing", async () => {
  const it = await begun();
  await expectRefused(it, it.callback, unknown, ben);
});

test("takes a callback without an issuer where none is announced", async () => {
  const { app, callback } = await begun({
    metadata: { authorization_response_iss_parameter_supported: undefined },
  });
  const wrong = changed(callback, (url) => url.set("iss", "https://evil.example"));
  expect((await app.callback(wrong)).status).toBe(403);
  expect((await app.callback(changed(callback, (url) => url.delete("iss")))).status).toBe(200);
});

test("refuses a callback that is used again, and changes nothing", async () => {
  const { server, app, callback } = await begun();
  await app.callback(callback);
  const before = await contentOf(app.store);
  const response = await app.callback(callback);
  expect(response.status).toBe(403);
  expect(await expectSafe(response)).toContain("not known");
  expect(await contentOf(app.store)).toEqual(before);
  expect(server.tokenRequests).toHaveLength(1);
});

test("a preview of its link uses nothing up", async () => {
  const { app, server, callback } = await begun();
  for (const method of ["HEAD", "OPTIONS", "POST"]) {
    const request = new Request(callback, { method });
    expect((await app.oauth.callback(request, { principal: ada })).status).toBe(405);
  }
  const start = new Request(redirectUrl, { method: "HEAD" });
  expect((await app.oauth.start(start, app.use)).status).toBe(405);
  expect(server.tokenRequests).toEqual([]);
  expect((await app.callback(callback)).status).toBe(200);
});

test("does not ask again for scopes that the authorization server does not have", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  const challenge = { scope: "notes:raed" };
  await app.getToken({ refused: { status: 401, challenge } }).catch(() => undefined);
  const authorizationUrl = new URL(await app.begin());
  expect(authorizationUrl.searchParams.get("scope")).toBe("notes:raed");
  const callback = changed(server.consent(authorizationUrl), (parameters) => {
    parameters.delete("code");
    parameters.set("error", "invalid_scope");
  });
  expect(await (await app.callback(callback)).text()).toContain("You are not signed in");
  const again = new URL(await app.begin());
  expect(again.searchParams.get("scope")).toBeNull();
  expect((await app.callback(server.consent(again))).status).toBe(200);
});

test("submits a code once, however many processes get the callback", async () => {
  const { server, app, callback } = await begun();
  const processes = [app, app.next(), app.next(), app];
  const responses = await Promise.all(processes.map((each) => each.callback(callback)));
  expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200, 403, 403, 403,
  ]);
  expect(server.tokenRequests).toHaveLength(1);
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
});

test("refuses a callback after ten minutes, says so, and forgets it after twenty", async () => {
  const clock = createClock();
  const store = createMemoryStore({ now: clock.now });
  const { server, app, callback } = await begun({}, { now: clock.now, store });
  const before = await contentOf(store);
  clock.offsetMs = 601_000;
  const late = await app.callback(callback);
  expect(late.status).toBe(400);
  expect(await expectSafe(late)).toContain("took too long");
  expect(await contentOf(store)).toEqual(before);
  clock.offsetMs = 1_201_000;
  expect((await app.callback(callback)).status).toBe(403);
  expect(app.eventsOf("sign-in-refused").map(({ reason }) => reason)).toEqual([
    "expired",
    "unknown",
  ]);
  expect(await contentOf(store)).toEqual([expect.objectContaining({ expiresAt: undefined })]);
  expect(server.tokenRequests).toEqual([]);
});

test("lets two tabs sign in, in any order", async () => {
  const { server, app, callback: first } = await begun();
  const second = server.consent(await app.begin());
  expect((await app.callback(second)).status).toBe(200);
  const { token } = (await app.getToken())!;
  expect((await app.next().callback(first)).status).toBe(200);
  const current = (await app.getToken())!.token;
  expect(current).not.toBe(token);
  expect(server.accepts(current)).toBe(true);
});

test("does not accept the code of one sign-in with the state of another", async () => {
  const { server, app, callback: first } = await begun();
  const second = server.consent(await app.begin());
  const mixed = changed(first, (url) => url.set("code", second.searchParams.get("code")!));
  expect((await app.callback(mixed)).status).toBe(502);
  expect(await app.getToken()).toBeUndefined();
  expect(server.tokenRequests).toHaveLength(1);
});

test("sends a code to the server where its sign-in began, and to no other", async () => {
  const rules = { metadata: { authorization_response_iss_parameter_supported: undefined } };
  const { app, server, callback } = await begun(rules);
  const other = await startHandMadeServer(rules);
  const attacked = other.consent(await app.begin({ url: other.url }));
  const mixed = changed(attacked, (url) => {
    url.delete("iss");
    url.set("state", callback.searchParams.get("state")!);
  });
  expect((await app.callback(mixed)).status).toBe(502);
  expect(other.tokenRequests).toEqual([]);
  expect(server.tokenRequests).toHaveLength(1);
  expect(await app.getToken({ url: other.url })).toBeUndefined();
});

test("shows an error of the server safely, and ends the sign-in", async () => {
  const { server, app, callback } = await begun();
  const words = `<script>alert(1)</script>\u202e\n"'&${"long ".repeat(200)}`;
  const denied = changed(callback, (url) => {
    url.delete("code");
    url.set("error", "access_denied");
    url.set("error_description", words + url.get("state"));
    url.set("error_uri", "javascript:alert(1)");
  });
  const response = await app.callback(denied);
  expect(response.status).toBe(403);
  const page = await expectSafe(response);
  expect(page).toContain("access was not granted");
  expect(page).not.toMatch(/<script|javascript:|long long/);
  const [event] = app.eventsOf("sign-in-refused");
  expect(event).toMatchObject({ reason: "denied", connection: "notes" });
  const { message } = event!.error!;
  expect(message).toContain("access_denied");
  expect(message).not.toMatch(/[\u202e\n]/);
  expect(message.length).toBeLessThan(500);
  expect(message).not.toContain(callback.searchParams.get("state"));
  expect((await app.callback(callback)).status).toBe(403);
  expect(server.tokenRequests).toEqual([]);
});

test.each([
  ["refuses the code", { status: 400, body: { error: "invalid_grant", error_description: "<b>" } }],
  ["is down", { status: 503, body: {} }],
  ["breaks the connection", "cut"],
  ["gives no tokens", { status: 200, body: { token_type: "Bearer" } }],
] as const)("keeps the tokens of before where the server %s", async (_name, answer) => {
  const { server, app, callback } = await begun();
  await app.callback(callback);
  const before = await app.getToken();
  const again = server.consent(await app.begin());
  server.rules.onToken = () => answer;
  const response = await app.callback(again);
  expect(response.status).toBe(502);
  expect(await expectSafe(response)).toContain("The sign-in failed");
  expect(app.eventsOf("sign-in-refused")).toMatchObject([{ reason: "not-exchanged" }]);
  server.rules.onToken = undefined;
  expect((await app.callback(again)).status).toBe(403);
  expect(server.tokenRequests).toHaveLength(2);
  expect(await app.getToken()).toEqual(before);
});

test.each(["https://169.254.169.254/token", "https://[fe80::1]/token"])(
  "sends no code to %s, whoever names it",
  async (token_endpoint) => {
    const { app, callback } = await begun({ metadata: { token_endpoint } });
    const response = await app.callback(callback);
    expect(response.status).toBe(502);
    expect(await expectSafe(response)).not.toContain(new URL(token_endpoint).host);
    const [event] = app.eventsOf("sign-in-refused");
    expect(event).toMatchObject({
      reason: "not-exchanged",
      error: { code: "CONNECTION_UNAVAILABLE", data: { reason: "other-origin" } },
    });
    expect(await app.getToken()).toBeUndefined();
  },
);

test("saves the tokens again where the store fails for a moment", async () => {
  const inner = createMemoryStore();
  let failures = 0;
  const store: SessionStore = {
    ...inner,
    async put(key, value, revision, options) {
      const answer = await inner.put(key, value, revision, options);
      if (failures === 0 || !key.includes("oauth/grant/")) return answer;
      failures -= 1;
      throw new McpSessionError("STORE_FAILED", "The store's answer was lost.");
    },
  };
  const { server, app, callback } = await begun({}, { store });
  failures = 1;
  expect((await app.callback(callback)).status).toBe(200);
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(server.revoked).toEqual([]);
});

test.each([
  ["a path", "/chat?done=1", "http://127.0.0.1:3999/chat?done=1"],
  ["a URL", new URL("https://app.example/done"), "https://app.example/done"],
])("goes on to %s of the application", async (_name, next, location) => {
  const done: unknown[] = [];
  const { server, app, callback } = await begun(
    {},
    {
      onSignedIn: (signedIn) => {
        done.push(signedIn);
        return next;
      },
    },
  );
  const response = await app.callback(callback);
  expect(response.status).toBe(303);
  expect(response.headers.get("location")).toBe(location);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(done).toEqual([
    { principal: ada, connection: "notes", url: server.url, sessionId: undefined },
  ]);
});

test("answers as the application does, for the agent session that waits", async () => {
  const done: unknown[] = [];
  const server = await startHandMadeServer();
  const app = createApplication({
    url: server.url,
    onSignedIn: ({ sessionId }) => {
      done.push(sessionId);
      return new Response("own page", { status: 201 });
    },
  });
  await app.getToken({ refused: { status: 401 }, sessionId: "chat-1" }).catch(() => undefined);
  await app.getToken({ refused: { status: 401 }, sessionId: "chat-2" }).catch(() => undefined);
  const response = await app.callback(server.consent(await app.begin()));
  expect(response.status).toBe(201);
  expect(await response.text()).toBe("own page");
  expect(done).toEqual(["chat-2"]);
});

test("needs to know whose browser it is", async () => {
  const { app, callback } = await begun();
  const before = await contentOf(app.store);
  const request = new Request(callback);
  await expect(
    app.oauth.callback(request, { principal: undefined as never }),
  ).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
  await expect(
    app.oauth.start(new Request(redirectUrl), { ...app.use, principal: undefined as never }),
  ).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
  expect(await contentOf(app.store)).toEqual(before);
});
