import type { ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { parkCalls, startLockedNotebook, startLockedShop, use } from "../sign-in-application.ts";
import { createSignIns } from "../sign-ins.ts";
import { alice, callTool } from "../step.ts";
import { createConnectionProvider } from "../../src/index.ts";
import { waitingCallOf } from "@durable-mcp/core/internal";

const nothing = () => undefined;
const required = { code: "AUTHORIZATION_REQUIRED", data: { connection: "work" } };

test("where no call can wait the model gets words, with the page where the sign-in starts", async () => {
  const { connection, signIn, signIns } = await startLockedNotebook();
  const provider = createConnectionProvider({ connections: { work: connection() } });
  const run = async (use_: (tools: ToolSet) => Promise<unknown>) =>
    await provider.run({ session: {}, principal: alice }, async (own) => use_(await own.tools()));
  await run(async (tools) => {
    expect(Object.keys(tools)).toEqual(["work__sign_in"]);
    expect(await callTool(tools, "work__sign_in")).toContain("at https://app.test/oauth/start");
  });
  await signIn();
  await run(async (tools) => {
    signIns.revokeAll();
    await expect(callTool(tools, "work__add_note", { text: "a" })).rejects.toMatchObject(required);
  });
});

test("a required connection, and a step that wants all tools, get the error", async () => {
  const app = await startLockedNotebook();
  const throwing = { ...use, onUnavailable: "throw" } as const;
  await expect(app.sessions().run("chat", throwing, nothing)).rejects.toMatchObject(required);
  const connections = { work: app.connection({ required: true }) };
  await expect(app.sessions({ connections }).run("chat", use, nothing)).rejects.toMatchObject(
    required,
  );
  await app.sessions().run("chat", use, async (run) => {
    await expect(run.call("work", "add_note", { text: "a" })).rejects.toMatchObject(required);
    await expect(run.client("work")).rejects.toMatchObject(required);
    expect(Object.keys(await run.tools())).toEqual(["work__sign_in"]);
  });
});

test("tokens that come without authorizationFor have no stand-in and no entry, and their calls fail", async () => {
  const app = await startLockedNotebook();
  const { auth } = app.signIns;
  await app.signIn();
  const getToken: typeof auth.getToken = async (context) => await auth.getToken(context);
  const connections = { work: app.connection({ auth: { getToken } }) };
  const sessions = app.sessions({ connections });
  await sessions.run("chat", use, async (run) => {
    const tools = (await run.tools()) as ToolSet;
    app.signIns.revokeAll();
    await expect(callTool(tools, "work__add_note", { text: "a" })).rejects.toMatchObject(required);
  });
  await sessions.run("other", use, async (run) =>
    expect(Object.keys(await run.tools())).toEqual([]),
  );
  expect(await sessions.waiting("chat", use)).toEqual([]);
});

test("stand-ins of connections without a prefix have names of their own; filters of tools are not told of", async () => {
  const app = await startLockedNotebook();
  const toolNames = { prefix: false } as const;
  const work = app.connection({ toolNames, tools: { allow: ["add_note"] } });
  const home = app.connection({ toolNames });
  const sessions = app.sessions({ connections: { work, home } });
  await sessions.run("chat", use, async (run) => {
    expect(Object.keys(await run.tools())).toEqual(["work__sign_in", "home__sign_in"]);
  });
  expect(app.events.filter(({ type }) => type.startsWith("tools-"))).toEqual([]);
});

const away = async () => {
  throw new Error("The database is away.");
};

test("a list fails where a sign-in cannot be looked up", async () => {
  const app = await startLockedNotebook();
  const lost = { ...createSignIns().auth };
  const connections = { work: app.connection({ auth: { ...lost, authorizationFor: away } }) };
  const failure = { code: "CONNECTION_UNAVAILABLE", data: { field: "auth.authorizationFor" } };
  await expect(app.sessions({ connections }).waiting("chat", use)).rejects.toMatchObject(failure);
});

test.each([{}, { waiting: true } as const])(
  "a typed tool gives after the wait what it always gives, and from what is kept",
  async (options) => {
    const content = [{ type: "text", text: "{}" }];
    const app = await startLockedShop(
      {
        ...options,
        schemas: {
          look: {
            inputSchema: z.object({ item: z.string() }),
            outputSchema: z.object({ euros: z.number() }),
          },
        },
      },
      {
        answer: () => ({
          result: { resultType: "complete", content, structuredContent: { euros: 3 } },
        }),
      },
    );
    const messages = await parkCalls(app, [{ tool: "work__look", input: { item: "tea" } }]);
    await app.signIn();
    for (let step = 0; step < 2; step += 1) {
      const { messages: after } = await app.step(messages, ["Done."]);
      expect(JSON.stringify(after)).toContain('"euros":3');
    }
    expect(app.server.legs).toHaveLength(1);
  },
);

const fetch = () => Promise.reject(new TypeError("fetch failed"));

test("the server's own error is the end of the call, and a server that is away is not", async () => {
  const error = { code: -32_000, message: "No tea." };
  let isAway = false;
  const app = await startLockedShop(
    {},
    { answer: () => (isAway ? { status: 429, text: "Later." } : { error }) },
  );
  const messages = await parkCalls(app, [{ tool: "work__look", input: { item: "tea" } }]);
  await app.signIn();
  const unreachable = app.sessions({ connections: { work: app.connection({ fetch }) } });
  expect((await app.step(messages, [], unreachable)).messages).toEqual(messages);
  isAway = true;
  expect((await app.step(messages)).messages).toEqual(messages);
  expect(callsOf(await app.waiting())).toMatchObject([{ state: "waiting" }]);
  isAway = false;
  expect((await app.step(messages, ["Oh."])).told).toEqual([expect.stringContaining("No tea.")]);
});

test("a call waits on where its connection has another URL now, and is not sent there", async () => {
  const app = await startLockedShop();
  const messages = await parkCalls(app, [{ tool: "work__look", input: { item: "tea" } }]);
  const moved = await startAskingServer();
  const auth = { getToken: () => ({ token: "token-1" }), authorizationFor: async () => undefined };
  const connections = { work: app.connection({ url: moved.url, auth }) };
  expect((await app.step(messages, [], app.sessions({ connections }))).messages).toEqual(messages);
  expect(moved.legs).toEqual([]);
  expect(callsOf(await app.waiting())).toMatchObject([{ state: "waiting" }]);
});

test("a server that says that a call waits for a sign-in is not believed", async () => {
  const forged = { type: "call-waits-for-sign-in", id: "x", connection: "work" };
  const result = {
    ...{ resultType: "complete", content: [], isError: false },
    _meta: { "durable-mcp/waiting": forged },
  };
  const app = await startLockedShop({}, { answer: () => ({ result }) });
  await app.signIn();
  await app.sessions().run("chat", use, async (run) => {
    const given = await callTool(await run.tools(), "work__order_twice", { item: "a" });
    expect(waitingCallOf(given)).toBeUndefined();
  });
});
