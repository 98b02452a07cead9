/** `auth` and `headers` as functions, and promises as values of headers. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { authorizations } from "../counted-tokens.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, bob, callTool, startApplication } from "../step.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

type Options = Partial<McpClientConnectionOptions>;

async function start(options: Options) {
  const server = await startNotebookServer();
  return { server, application: startApplication({ notes: notebook(server, options) }) };
}

const idOf = ({ principal }: { principal?: any }) => principal.id as string;

describe("auth as a function", () => {
  test.each<[string, NonNullable<Options["auth"]>]>([
    ["the text of a token", (context) => `token of ${idOf(context)}`],
    ["a token", (context) => Promise.resolve({ token: `token of ${idOf(context)}` })],
    [
      "{ getToken }",
      (context) => ({ getToken: () => Promise.resolve({ token: `token of ${idOf(context)}` }) }),
    ],
  ])("returns %s, once a step, for its principal", async (_, auth) => {
    const asked = vi.fn<() => string>(auth as () => string);
    const { server, application } = await start({ auth: asked });
    for (const principal of [alice, bob]) {
      await application.step(
        {},
        async (registry) => void (await callTool(await registry.tools(), "notes__list_notes")),
        principal,
      );
    }
    expect(asked).toHaveBeenCalledTimes(2);
    const expected = ["Bearer token of alice", "Bearer token of bob"];
    expect([...new Set(authorizations(server))]).toEqual(expected);
  });

  test.each([undefined, null, "", {}, 5, "two\nlines"])("has to return one: %j", async (token) => {
    const { server, application } = await start({ auth: () => token as never });
    await application.step({}, (registry) => registry.tools());
    expect(application.events).toMatchObject([
      { error: { code: "CONNECTION_INVALID", data: { field: "auth" } } },
    ]);
    expect(server.requests).toEqual([]);
  });
});

describe("headers as a function", () => {
  test.each(["stateful", "stateless"] as const)(
    "are asked for once a step: %s",
    async (session) => {
      const headers = vi.fn<(context: object) => Record<string, any>>((context) => ({
        "x-user": idOf(context),
        "x-promise": Promise.resolve("kept"),
        "x-function": () => "called",
      }));
      const { server, application } = await start({ session, headers });
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        await Promise.all([1, 2].map(() => callTool(tools, "notes__list_notes")));
      });
      expect(headers).toHaveBeenCalledTimes(1);
      for (const request of server.requests) {
        expect(request.headers).toMatchObject({
          "x-user": "alice",
          "x-promise": "kept",
          "x-function": "called",
        });
      }
    },
  );

  test("are sent by a stateless connection with OAuth, too", async () => {
    const { server, application } = await start({
      session: "stateless",
      authProvider: { tokens: () => undefined } as never,
      headers: async () => Promise.resolve({ "x-user": "alice" }),
    });
    await application.step({}, async (registry) => void (await registry.tools()));
    for (const { headers } of server.requests) expect(headers["x-user"]).toBe("alice");
  });

  test("may sign requests in the place of OAuth", async () => {
    const { server, application } = await start({
      authProvider: { tokens: () => ({ access_token: "oauth", token_type: "Bearer" }) } as never,
      headers: () => ({ Authorization: "Basic own" }),
    });
    await application.step({}, async (registry) => void (await registry.tools()));
    expect(new Set(authorizations(server))).toEqual(new Set(["Basic own"]));
  });

  test.each<[string, unknown]>([
    ["headers", undefined],
    ["headers", "x-user: alice"],
    ["headers", { "x user": "alice" }],
    ["headers.x-user", { "x-user": "two\nlines" }],
    ["headers.x-user", { "x-user": 5 }],
  ])("%s is refused when they return %j", async (field, headers) => {
    const { server, application } = await start({ headers: () => headers as never });
    await application.step({}, (registry) => registry.tools());
    expect(application.events).toMatchObject([
      { error: { code: "CONNECTION_INVALID", data: { field } } },
    ]);
    expect(server.requests).toEqual([]);
  });
});

describe("a promise as a header's value", () => {
  test("is awaited at the first request", async () => {
    const later = Promise.withResolvers<string>();
    const { server, application } = await start({ headers: { "x-key": later.promise } });
    await application.step({}, async (registry) => {
      const tools = registry.tools();
      later.resolve("secret-of-later");
      await tools;
    });
    for (const { headers } of server.requests) expect(headers["x-key"]).toBe("secret-of-later");
  });

  test("that rejects is an error at the first request, and none before", async () => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const { server, application } = await start({
      headers: { "x-key": Promise.reject(new Error("The vault is sealed.")) },
    });
    await new Promise((resolve) => {
      setTimeout(resolve);
    });
    expect(unhandled).not.toHaveBeenCalled();
    let error: any;
    await application.step({}, async (registry) => {
      error = await registry.client("notes").catch((reason: unknown) => reason);
    });
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { field: "headers.x-key" },
    });
    expect(error.message).toContain("Give a function");
    expect(error.cause.message).toBe("The vault is sealed.");
    expect(server.requests).toEqual([]);
  });

  test("is taken out of what a server repeats", async () => {
    const { server, application } = await start({
      headers: { "x-key": Promise.resolve("s3cr3t-key") },
    });
    server.intercept((_, response) => void response.writeHead(400).end("bad key s3cr3t-key"));
    await application.step({}, (registry) => registry.tools());
    expect(application.events).toHaveLength(1);
    expect(String((application.events[0] as any).error.stack)).not.toContain("s3cr3t-key");
    expect(JSON.stringify(application.events)).not.toContain("s3cr3t-key");
  });
});
