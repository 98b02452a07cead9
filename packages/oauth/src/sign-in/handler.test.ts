import { createMemoryStore } from "@durable-mcp/core";
import { expect, test, vi } from "vitest";
import { ada, createApplication, errorOf, redirectUrl } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { createOAuth } from "../create-oauth.ts";

const store = createMemoryStore();
const keys = { current: new Uint8Array(32).fill(7) };

test("one handler serves both routes, by their paths", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  const { data } = await errorOf(app.getToken({ refused: { status: 401 } }));
  const use = { principal: ada };
  const started = await app.oauth.handler(new Request(data.startUrl!), use);
  const callback = server.consent(started.headers.get("location")!);
  expect((await app.oauth.handler(new Request(callback), use)).status).toBe(200);
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
});

test("one handler takes what to sign in to, and where to go on, from the application", async () => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, onSignedIn: () => "/all" });
  const request = new Request(new URL("start", redirectUrl));
  const response = await app.oauth.handler(request, { ...app.use, returnUrl: "/settings" });
  const callback = server.consent(response.headers.get("location")!);
  const end = await app.oauth.handler(new Request(callback), { principal: ada });
  expect(end.headers.get("location")).toBe("http://127.0.0.1:3999/settings");
});

test.each([
  "javascript:alert(1)",
  " javascript:alert(1)",
  "data:text/html,x",
  "//elsewhere.example/x",
  "/\\elsewhere.example",
  "/\t/elsewhere.example",
])("refuses to send the user to %j afterwards", async (returnUrl) => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url });
  const request = new Request(new URL("start", redirectUrl));
  await expect(app.oauth.handler(request, { ...app.use, returnUrl })).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
    data: { field: "returnUrl" },
  });
});

test("answers any other path with 404, and names both on the console", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  try {
    const oauth = createOAuth({ store, keys, redirectUrl });
    const request = new Request("http://127.0.0.1:3999/elsewhere?code=secret-code");
    const response = await oauth.handler(request, { principal: ada });
    expect(response.status).toBe(404);
    const words = warn.mock.calls.flat().join("\n");
    expect(words).toContain("/oauth/callback");
    expect(words).toContain("/oauth/start");
    expect(words).not.toContain("secret-code");
  } finally {
    warn.mockRestore();
  }
});

test("keys may be a function, asked for at the first use", async () => {
  const ask = vi.fn<() => typeof keys>(() => keys);
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, keys: ask });
  expect(ask).not.toHaveBeenCalled();
  await app.callback(server.consent(await app.begin()));
  expect(server.accepts((await app.getToken())?.token)).toBe(true);
  expect(ask).toHaveBeenCalledTimes(1);
});

test.each([
  ["none", () => undefined as never, "keys must be"],
  ["half of one", () => ({ current: "c2hvcnQ=" }), "keys.current must be 32 bytes"],
])("a function that gives %s is named at the first use", async (_name, give, words) => {
  const server = await startHandMadeServer();
  const app = createApplication({ url: server.url, keys: give });
  const { code, message } = await errorOf(app.getToken());
  expect(code).toBe("CONNECTION_INVALID");
  expect(message).toContain(words);
});

const create = (url: string) => () => createOAuth({ store, keys, redirectUrl: url });

test("refuses http as redirect URL, but for this computer", () => {
  expect(create("http://app.example/oauth/callback")).toThrow("redirectUrl must be an https URL");
  for (const host of ["localhost:3000", "127.0.0.1:3000", "[::1]:3000"]) {
    expect(create(`http://${host}/oauth/callback`)).not.toThrow();
  }
});
