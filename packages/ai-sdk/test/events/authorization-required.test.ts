/** A `getToken` that says that the user has to sign in. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { collectEvents } from "../collect-events.ts";
import { invalidToken, lock } from "../../../sessions/test/locked-server.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { alice, callForText, callTool, startApplication } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  McpSessionError,
} from "../../src/index.ts";

const scopes = ["notes:read"];
const startUrl = "https://app.test/oauth/start?connection=notes&resource=abc";
const required = {
  code: "AUTHORIZATION_REQUIRED",
  data: { connection: "notes", scopes, startUrl },
};

/** As an authorization library throws it: without the connection, or deep in an error of its own. */
const signIn = () =>
  new McpSessionError("AUTHORIZATION_REQUIRED", "The user has to sign in.", {
    data: { scopes, startUrl, reason: "authorization-required" },
  });
const wrapped = () => new Error("No token.", { cause: new TypeError("x", { cause: signIn() }) });

/** A user who is signed in or not. A refused token is no help. */
function createUser({
  isSignedIn = false,
  error = signIn,
}: { isSignedIn?: boolean; error?: () => Error } = {}) {
  const user = {
    isSignedIn,
    auth: {
      getToken({ refused }: { refused?: unknown }) {
        if (!user.isSignedIn || refused !== undefined) throw error();
        return { token: "token-1" };
      },
    },
  };
  return user;
}

type Options = Partial<McpClientConnectionOptions>;

const define = ({ url }: { url: string }, options: Options) =>
  defineMcpClientConnection({ url, description: "Notes.", session: "stateful", ...options });

const servers = {
  "with sessions": { start: startNotebookServer, tool: "notes__list_notes" },
  "without sessions": { start: startModernServer, tool: "notes__greet" },
  "over HTTP+SSE": { start: () => startSseServer(405), tool: "notes__greet" },
};

const cases = Object.keys(servers).flatMap((kind) =>
  (["stateful", "stateless"] as const).map((session) => [kind, session] as const),
);

describe.each(cases)("a server %s, on a %s connection", (kind, session) => {
  const { start, tool } = servers[kind as keyof typeof servers];
  const startUse = async (user: ReturnType<typeof createUser>, options: Options = {}) => {
    const locked = await lock(await start());
    const notes = define(locked, { session, auth: user.auth, ...options });
    return { locked, ...startApplication({ notes }) };
  };

  test.each([
    ["as it is", signIn],
    ["in a chain of causes", wrapped],
  ])("tells of the sign-in, %s, in place of the tools; nothing is sent", async (_, error) => {
    const { locked, step, events } = await startUse(createUser({ error }));
    await step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
    });
    expect(locked.requests).toEqual([]);
    expect(events).toEqual([
      {
        type: "authorization-required",
        ...{ connection: "notes", scopes, startUrl },
        error: expect.any(McpSessionError),
      },
    ]);
    const { error: said } = events[0] as { error: Error };
    expect(said).toMatchObject(required);
    expect(said.cause).toBeUndefined();
  });

  test("is thrown unwrapped by all that needs the server", async () => {
    const { step } = await startUse(createUser());
    await step({}, async (registry) => {
      const uses = [
        () => registry.tools({ onUnavailable: "throw" }),
        () => registry.client("notes"),
        () => registry.call("notes", tool.slice("notes__".length)),
        () => registry.ready("notes", { timeoutMs: 5_000 }),
      ];
      for (const use of uses) await expect(use()).rejects.toMatchObject(required);
      await expect(use(registry)).rejects.toMatchObject(required);
    });
  });

  const use = async (registry: any) =>
    await callForText(await registry.tools({ onUnavailable: "throw" }), tool);

  test("is no unknown outcome of a call that was refused, and the tools stay", async () => {
    const user = createUser({ isSignedIn: true });
    const { locked, step, events } = await startUse(user);
    await step({}, async (registry) => {
      const tools = await registry.tools();
      locked.judge((_, { message }) =>
        message?.method === "tools/call" ? invalidToken : undefined,
      );
      const call = callTool(tools, tool);
      await expect(call).rejects.toMatchObject(required);
      locked.judge(() => undefined);
      expect(await callForText(tools, tool)).toEqual(expect.any(String));
    });
    const told = events.filter(({ type }) => type === "authorization-required");
    expect(told).toHaveLength(1);
    expect(events.map(({ type }) => type)).not.toContain("unavailable");
  });

  test("is thrown for a required connection, in place of the step", async () => {
    const { provider } = await startUse(createUser(), { required: true });
    const run = provider.run({ session: {}, principal: alice }, () => "ran");
    await expect(run).rejects.toMatchObject(required);
  });
});

describe("a session that waits for its user", () => {
  test.each([
    ["no token at all", (user: { isSignedIn: boolean }) => void (user.isSignedIn = false)],
    ["a token that is refused", () => undefined],
  ])("goes on after the sign-in: %s", async (_, signOut) => {
    const user = createUser({ isSignedIn: true });
    const server = await startNotebookServer();
    const locked = await lock(server);
    const { step, takeEvents } = startApplication({ notes: define(locked, { auth: user.auth }) });
    const before = await step({}, async (registry) => {
      await callTool(await registry.tools(), "notes__add_note", { text: "a" });
    });
    takeEvents();
    signOut(user);
    locked.judge(() => invalidToken);
    const during = await step(before, async (registry) => {
      // The kept list answers.
      const tools = await registry.tools();
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject(required);
      await expect(registry.call("notes", "list_notes")).rejects.toMatchObject(required);
    });
    expect(during).toEqual(before);
    expect(takeEvents()).toEqual(["resumed", "authorization-required", "authorization-required"]);
    user.isSignedIn = true;
    locked.judge(() => undefined);
    await step(during, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("a");
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("keeps its tools where the step does not need it, and a required one is asked", async () => {
    const user = createUser({ isSignedIn: true });
    const server = await startNotebookServer();
    const { step } = startApplication({
      notes: define(server, { auth: user.auth, required: true }),
    });
    const session = await step({}, (registry) => registry.tools());
    user.isSignedIn = false;
    await step(session, async (registry) => {
      await expect(registry.tools()).rejects.toMatchObject(required);
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is still known to its server, as far as status can tell", async () => {
    const user = createUser({ isSignedIn: true });
    const { events, onEvent } = collectEvents();
    const server = await startNotebookServer();
    const sessions = createDurableSessions({
      connections: { notes: define(server, { auth: user.auth }) },
      store: createMemoryStore(),
      onEvent,
    });
    await sessions.run("chat", { principal: alice }, (run) => run.tools());
    user.isSignedIn = false;
    const use = { principal: alice };
    expect(await sessions.status("chat", use)).toEqual([
      { connection: "notes", alive: false, reason: "authorization-required" },
    ]);
    await sessions.run("chat", use, async (run) => {
      expect(await run.status()).toMatchObject([
        { connection: "notes", alive: false, reason: "authorization-required" },
      ]);
    });
    user.isSignedIn = true;
    expect(await sessions.status("chat", use)).toEqual([{ connection: "notes", alive: true }]);
    expect(server.sessionIds).toHaveLength(1);
    expect(events.map(({ type }) => type)).not.toContain("lost");
  });
});

test("an answer to a waiting call is not sent, and the call still waits", async () => {
  const user = createUser({ isSignedIn: true });
  const server = await startAskingServer();
  const locked = await lock(server);
  const notes = define(locked, { auth: user.auth, session: "stateless", waiting: true });
  const sessions = createDurableSessions({ connections: { notes }, store: createMemoryStore() });
  const use = { principal: alice };
  await sessions.run("chat", use, async (run) =>
    callTool(await run.tools(), "notes__order", { item: "a" }),
  );
  const [call] = callsOf(await sessions.waiting("chat", use));
  const answer = async () => await sessions.answer("chat", call!.id, yes, use);

  user.isSignedIn = false;
  await expect(answer()).rejects.toMatchObject(required);
  user.isSignedIn = true;
  locked.judge(() => invalidToken);
  await expect(answer()).rejects.toMatchObject(required);
  expect(server.legs).toHaveLength(1);
  expect(await sessions.waiting("chat", use)).toMatchObject([{ state: "waiting" }]);

  locked.judge(() => undefined);
  expect(await answer()).toMatchObject({ state: "settled" });
  expect(server.legs).toHaveLength(2);
});

const onStart = async ({ client }: { client: { callTool(use: object): Promise<unknown> } }) =>
  void (await client.callTool({ name: "list_notes" }));

test("a preparation of a session that meets it ends the session, and says so", async () => {
  const user = createUser({ isSignedIn: true });
  const server = await startNotebookServer();
  const locked = await lock(server, (_, { message }) =>
    message?.method === "tools/call" ? invalidToken : undefined,
  );
  const session = { mode: "stateful", onStart } as const;
  const { step } = startApplication({ notes: define(locked, { auth: user.auth, session }) });
  await step({}, async (registry) => {
    const tools = registry.tools({ onUnavailable: "throw" });
    await expect(tools).rejects.toMatchObject(required);
  });
  expect(server.liveSessions()).toBe(0);
});

test("the link of a sign-in stays whole where a header has the same words", async () => {
  const { auth } = createUser();
  const server = await startNotebookServer();
  const headers = { "x-app": "app.test" };
  const { step } = startApplication({ notes: define(server, { auth, headers }) });
  await step({}, async (registry) => {
    await expect(registry.call("notes", "list_notes")).rejects.toMatchObject(required);
  });
});
