/** What `getToken` learns of a refusal, and what becomes of the request. */
import { describe, expect, test } from "vitest";
import { invalidToken, lock, type LockedServer } from "../../../sessions/test/locked-server.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { callForText, callTool, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";
import type {
  ConnectionToken,
  TokenContext,
} from "../../../sessions/src/declare/credential-options.ts";

type Answer = (context: TokenContext, count: number) => ConnectionToken | undefined;

const metadata = "https://notes.test/.well-known/oauth-protected-resource";
const lacksScope = {
  status: 403,
  challenge: `Bearer error="insufficient_scope", scope="notes:write", resource_metadata="${metadata}"`,
};
const isCall = ({ message }: { message?: any }) => message?.method === "tools/call";
const isRefused = { data: { status: 401, reason: "authorization-required" } };

const listNotes = async (registry: any) =>
  void (await callForText(await registry.tools(), "notes__list_notes"));

/** A locked notebook, and how its connection's `getToken` is asked. */
async function startLocked(
  answer: Answer,
  options: Partial<McpClientConnectionOptions> = {},
  server?: { origin: string; url: string },
) {
  const locked = await lock(server ?? (await startNotebookServer()));
  const contexts: TokenContext[] = [];
  const notes = defineMcpClientConnection({
    url: locked.url,
    description: "A notebook.",
    session: "stateful",
    ...options,
    auth: {
      async getToken(context) {
        return await Promise.resolve(answer(context, contexts.push(context)));
      },
    },
  });
  return { locked, contexts, ...startApplication({ notes }) };
}

const only = (locked: LockedServer, ...valid: (string | undefined)[]) =>
  locked.judge((token) => (valid.includes(token) ? undefined : invalidToken));

describe.each(["stateful", "stateless"] as const)("on a %s connection", (session) => {
  test("getToken learns the resource, and after a 401 the refused token and the challenge", async () => {
    const { locked, contexts, step } = await startLocked(
      (_, count) => ({ token: `token-${count}` }),
      { session },
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      expect(contexts).toMatchObject([{ url: locked.url, connection: "notes" }]);
      expect(contexts[0]!.refused).toBeUndefined();
      only(locked, "token-2");
      expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
      await callTool(tools, "notes__list_notes");
    });
    expect(contexts).toHaveLength(2);
    expect(contexts[1]).toMatchObject({
      url: locked.url,
      refused: { token: "token-1", status: 401, challenge: { error: "invalid_token" } },
    });
    expect(locked.tokens().slice(-3)).toEqual(["token-1", "token-2", "token-2"]);
  });

  test("no token is sent if there is none, and a 401 asks for one", async () => {
    const { locked, contexts, step } = await startLocked(
      ({ refused }) => refused && { token: "token-1" },
      { session },
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      await callTool(tools, "notes__list_notes");
      expect(new Set(locked.tokens())).toEqual(new Set([undefined]));
      expect(contexts).toHaveLength(1);
      only(locked, "token-1");
      expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
    });
    expect(contexts[1]!.refused).toEqual({
      token: undefined,
      status: 401,
      challenge: expect.objectContaining({ error: "invalid_token" }),
    });
    expect(locked.tokens().slice(-2)).toEqual([undefined, "token-1"]);
  });

  test.each([
    ["the same token", { token: "token-1" }],
    ["none", undefined],
  ])("the answer stays if there is %s", async (_, given) => {
    const { locked, contexts, step } = await startLocked(
      ({ refused }) => (refused ? given : { token: "token-1" }),
      { session },
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      only(locked);
      const before = locked.requests.length;
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject(isRefused);
      expect(locked.requests).toHaveLength(before + 1);
      expect(contexts).toHaveLength(2);
    });
  });

  test("getToken is asked once for each request, and once for all that are refused together", async () => {
    const { locked, contexts, step } = await startLocked(
      ({ refused }, count) => (refused ? { token: `token-${count}` } : undefined),
      { session },
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      only(locked, "token-2");
      const calls = [1, 2, 3, 4, 5].map(() => callForText(tools, "notes__list_notes"));
      expect(await Promise.all(calls)).toEqual(["", "", "", "", ""]);
      expect(contexts).toHaveLength(2);
      only(locked);
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject(isRefused);
      // Of the second refusal it learns, too: only the user may be able to go on.
      expect(contexts.slice(2).map(({ refused }) => refused?.token)).toEqual([
        "token-2",
        "token-3",
      ]);
    });
  });

  test("a 403 for lack of a scope asks for another token, which serves the rest of the step", async () => {
    const { locked, contexts, step } = await startLocked(
      ({ refused }) => ({ token: refused ? "wide" : "narrow" }),
      { session },
    );
    locked.judge((token, request) =>
      isCall(request) && token === "narrow" ? lacksScope : undefined,
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
      await callTool(tools, "notes__list_notes");
    });
    expect(contexts[1]!.refused).toEqual({
      token: "narrow",
      status: 403,
      challenge: {
        error: "insufficient_scope",
        scope: "notes:write",
        resourceMetadata: metadata,
      },
    });
    expect(contexts).toHaveLength(2);
    expect(locked.tokens().slice(-3)).toEqual(["narrow", "wide", "wide"]);
  });

  test("a token that lacks a scope stays if there is no other", async () => {
    const { locked, contexts, step } = await startLocked(
      ({ refused }) => (refused ? undefined : { token: "narrow" }),
      { session },
    );
    locked.judge((_, { message }) =>
      message?.params?.name === "add_note" ? lacksScope : undefined,
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      const adding = callTool(tools, "notes__add_note", { text: "a" });
      await expect(adding).rejects.toMatchObject({ data: { status: 403, reason: "refused" } });
      expect(await callForText(tools, "notes__list_notes")).toBe("");
    });
    expect(new Set(locked.tokens())).toEqual(new Set(["narrow"]));
    expect(contexts).toHaveLength(2);
  });

  test("another 403 asks for nothing", async () => {
    const { locked, contexts, step } = await startLocked(
      (_, count) => ({ token: `token-${count}` }),
      { session },
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      locked.judge(() => ({ status: 403, challenge: 'Bearer error="invalid_token"' }));
      await expect(callTool(tools, "notes__list_notes")).rejects.toMatchObject({
        data: { status: 403 },
      });
      expect(contexts).toHaveLength(1);
    });
  });

  test("a token that is refused is asked for anew in each step", async () => {
    const { locked, contexts, step } = await startLocked(
      (_, count) => ({ token: `token-${count}` }),
      { session },
    );
    const state = await step({}, listNotes);
    only(locked, "token-3");
    await step(state, listNotes);
    expect(contexts.map(({ refused }) => refused?.token)).toEqual([
      undefined,
      undefined,
      "token-2",
    ]);
  });
});

test("each step asks for a token, with its agent session", async () => {
  const locked = await lock(await startNotebookServer());
  const contexts: TokenContext[] = [];
  const getToken = (context: TokenContext) => ({ token: `token-${contexts.push(context)}` });
  const notes = defineMcpClientConnection({
    ...{ url: locked.url, description: "A notebook.", session: "stateful", auth: { getToken } },
  });
  const { provider } = startApplication({ notes });
  let session: { state?: unknown } = {};
  for (const count of [1, 2]) {
    const principal = { type: "app" } as const;
    const use = { session, sessionId: "chat", principal };
    ({ session } = await provider.run(use, async (run) => {
      await callForText(await run.tools(), "notes__list_notes");
      expect(contexts).toHaveLength(count);
      expect(contexts.at(-1)).toMatchObject({ sessionId: "chat", url: locked.url });
    }));
  }
  await provider.shutdown();
});

describe("servers of other kinds", () => {
  test("a server without sessions gets the other token at its first request", async () => {
    const { locked, step } = await startLocked(
      ({ refused }) => refused && { token: "token-1" },
      {},
      await startModernServer(),
    );
    only(locked, "token-1");
    await step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__greet")).toBe("hello from greet");
    });
    expect(locked.tokens().filter((token) => token === undefined)).toHaveLength(1);
  });

  test("the old HTTP+SSE transport gets the other token, too", async () => {
    const { locked, contexts, step } = await startLocked(
      (_, count) => ({ token: `token-${count}` }),
      {},
      await startSseServer(405),
    );
    await step({}, async (registry) => {
      const tools = await registry.tools();
      only(locked, "token-2");
      expect(await callForText(tools, "notes__greet")).toBe("hello");
    });
    expect(contexts.map(({ refused }) => refused?.token)).toEqual([undefined, "token-1"]);
  });

  test("a body that is a stream is not sent again, and the next request has the other token", async () => {
    const { locked, contexts, provider } = await startLocked(
      (_, count) => ({ token: `token-${count}` }),
      { session: "stateless" },
    );
    only(locked, "token-2");
    const registry = provider.create({ state: undefined, principal: { type: "app" } });
    const fetch = registry.fetch("notes");
    const post = async (body: BodyInit) => {
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      const { status } = await fetch(locked.url, init);
      return status;
    };
    expect(await post(new Blob(["{}"]).stream())).toBe(401);
    expect(locked.tokens()).toEqual(["token-1"]);
    await post("{}");
    expect(locked.tokens()).toEqual(["token-1", "token-2"]);
    expect(contexts).toHaveLength(2);
    await registry.dispose();
  });
});
