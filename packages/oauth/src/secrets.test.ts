import { inspect } from "node:util";
import { createMemoryStore, McpSessionError, type SessionStore } from "@durable-mcp/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  ada,
  contentOf,
  createApplication,
  createClock,
  redirectUrl,
} from "../test/application.ts";
import { type HandMadeServer, startHandMadeServer } from "../test/hand-made-server.ts";

/** All that was told to anybody, as text. */
let told: string[] = [];
const outputs = ["log", "info", "warn", "error", "debug"] as const;

beforeEach(() => {
  told = [];
  for (const name of outputs) {
    vi.spyOn(console, name).mockImplementation((...args) => tell(args));
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** With the causes of errors, as JSON and as the console prints it. */
function tell(value: unknown): void {
  told.push(inspect(value, { depth: 20, showHidden: true, maxStringLength: null }));
  told.push(JSON.stringify(value) ?? "");
  for (let error = value; error instanceof Error; error = error.cause) {
    told.push(error.message, error.stack ?? "");
    if (McpSessionError.isInstance(error)) told.push(JSON.stringify(error.data));
  }
}

const settled = async (work: Promise<unknown>) => {
  const [result] = await Promise.allSettled([work]);
  tell(result.status === "fulfilled" ? undefined : result.reason);
};

/** What the server knows as a secret, in all forms in which it may be written. */
function expectUntold({ secrets }: HandMadeServer, texts: readonly string[]) {
  expect(secrets.size).toBeGreaterThan(0);
  const all = texts.join("\n");
  const seen = [...secrets].filter((secret) => {
    const bytes = Buffer.from(secret);
    const forms = [
      secret,
      encodeURIComponent(secret),
      bytes.toString("base64"),
      bytes.toString("hex"),
    ];
    return secret !== "" && forms.some((form) => all.includes(form));
  });
  expect(seen).toEqual([]);
}

/** A store that remembers all that was ever stored. */
function rememberingStore() {
  const inner = createMemoryStore();
  const stored: string[] = [];
  const failing = { isOn: false };
  const store: SessionStore = {
    ...inner,
    async put(key, value, revision, options) {
      stored.push(JSON.stringify([key, value, options]));
      if (failing.isOn) throw new McpSessionError("STORE_FAILED", "The store does not answer.");
      return await inner.put(key, value, revision, options);
    },
  };
  return { store, stored, failing };
}

async function open(clients: "public" | "secret") {
  const server = await startHandMadeServer({
    ...(clients === "secret" && { secretSeconds: 86_400 }),
  });
  const { store, stored, failing } = rememberingStore();
  const clock = createClock();
  const app = createApplication({ url: server.url, store, now: clock.now, timeoutMs: 400 });
  const expectAllUntold = async () => {
    for (const event of app.events) tell(event);
    tell(await app.oauth.list({ principal: ada }));
    tell(await app.oauth.authorizationFor(app.use));
    // Neither whose they are, nor which agent session waits.
    expect(told.filter((text) => /login\.example|"ada"|chat-of-a-user/.test(text))).toEqual([]);
    tell(await contentOf(store));
    tell(app.oauth);
    tell(app.oauth.connect({ principal: ada, url: server.url }));
    expectUntold(server, [...told, ...stored]);
  };
  const start = async () => {
    const response = await app.oauth.start(new Request(redirectUrl), app.use);
    tell(await response.clone().text());
    return server.consent(response.headers.get("location")!);
  };
  const callback = async (url: URL) => {
    const response = await app.callback(url);
    tell([await response.text(), [...response.headers]]);
  };
  return { server, app, clock, failing, expectAllUntold, start, callback, stored };
}

test.each(["public", "secret"] as const)(
  "tells nobody a secret where all goes well, as a %s client",
  async (clients) => {
    const { app, clock, start, callback, expectAllUntold, server } = await open(clients);
    await settled(
      app.getToken({
        ...{ sessionId: "chat-of-a-user" },
        refused: { status: 401, challenge: { scope: "notes:read" } },
      }),
    );
    const url = await start();
    await callback(url);
    await callback(url);
    clock.offsetMs = 3_600_000;
    const token = (await app.getToken())!.token;
    const challenge = { error: "insufficient_scope", scope: "notes:delete" };
    await settled(app.getToken({ refused: { status: 403, token, challenge } }));
    await callback(await start());
    tell(await app.oauth.signOut({ principal: ada, connection: "notes" }));
    // Tokens and secrets of all kinds, so that this test sees them.
    const kinds = [...server.secrets].map((secret) => secret.split("-")[0]);
    expect(kinds).toEqual(expect.arrayContaining(["access", "refresh", "code"]));
    expect(kinds.includes("client")).toBe(clients === "secret");
    await expectAllUntold();
  },
);

/** A server that repeats what was sent to it, in all places. */
const echo = (parameters: URLSearchParams, authorization?: string) => {
  const all = [...parameters.values(), authorization].join(" ");
  return { error_description: all, error_uri: `https://e.example/?${parameters}`, detail: all };
};

test.each([
  ["refuses", (body: object) => ({ status: 400, body: { ...body, error: "invalid_grant" } })],
  [
    "does not know the client",
    (body: object) => ({ status: 401, body: { ...body, error: "invalid_client" } }),
  ],
  ["is down", (body: object) => ({ status: 503, body })],
  ["answers what is no JSON", (body: object) => ({ status: 200, body: JSON.stringify(body) })],
  [
    "gives tokens of another kind",
    (body: object) => ({
      status: 200,
      body: { ...body, access_token: "x", token_type: "DPoP" },
    }),
  ],
  [
    "says a secret is the error",
    (body: object) => ({
      status: 400,
      body: { ...body, error: (body as { detail: string }).detail.split(" ")[1] },
    }),
  ],
  ["breaks the connection", () => "cut" as const],
])("tells nobody a secret where the server %s", async (_name, answer) => {
  const { server, app, clock, start, callback, expectAllUntold } = await open("secret");
  await callback(await start());
  server.rules.onToken = ({ parameters, authorization }) => answer(echo(parameters, authorization));
  await callback(await start());
  clock.offsetMs = 3_560_000;
  await settled(app.getToken());
  clock.offsetMs = 3_600_000;
  await settled(app.getToken());
  clock.offsetMs += 2_000;
  await settled(app.getToken());
  server.rules.onRevocation = () => ({ status: 400, body: { error: "unsupported_token_type" } });
  tell(await app.oauth.signOut({ principal: ada, connection: "notes" }));
  await expectAllUntold();
});

test("tells nobody a secret of an error that a callback brings", async () => {
  const { server, start, callback, expectAllUntold } = await open("secret");
  for (const change of [
    (url: URLSearchParams) => {
      url.set("error", url.get("state")!);
    },
    (url: URLSearchParams) => {
      url.set("error", "access_denied");
      url.set("error_description", `${url.get("state")} ${encodeURIComponent(url.get("state")!)}`);
    },
    (url: URLSearchParams) => {
      url.set("iss", `https://evil.example/?${url.get("code")}`);
    },
  ]) {
    const url = await start();
    change(url.searchParams);
    await callback(url);
  }
  expect(server.tokenRequests).toEqual([]);
  await expectAllUntold();
});

test("tells nobody a secret where the store fails or cannot be read", async () => {
  const { server, app, clock, start, callback, failing, expectAllUntold, stored } =
    await open("secret");
  await callback(await start());
  const url = await start();
  failing.isOn = true;
  await settled(app.getToken({ refused: { status: 403, challenge: { error: "x" } } }));
  await settled(app.getToken({ refused: { status: 401 } }));
  clock.offsetMs = 3_600_000;
  await settled(app.getToken());
  clock.offsetMs = 0;
  await settled(app.oauth.signOut({ principal: ada, connection: "notes" }));
  failing.isOn = false;
  await callback(url);
  const lost = app.next({ keys: { current: new Uint8Array(32) } });
  await settled(lost.getToken());
  for (const event of lost.events) tell(event);
  expect(stored.length).toBeGreaterThan(0);
  expect(server.tokenRequests.length).toBeGreaterThan(0);
  await expectAllUntold();
});
