import { setTimeout as sleep } from "node:timers/promises";
import { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callForText, startApplication } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";
import type { ConnectionToken } from "../../../sessions/src/declare/credential-options.ts";

async function start(
  getToken: () => Promise<ConnectionToken>,
  options: Partial<McpClientConnectionOptions>,
) {
  const server = await startNotebookServer({ isSessionless: options.session === "stateless" });
  const notes = () =>
    defineMcpClientConnection({
      ...{ url: server.url, description: "A notebook.", auth: { getToken } },
      ...options,
    });
  return { server, ...startApplication(() => ({ notes: notes() })) };
}

const token = async () => ({ token: "token" });
const lateToken = async () => {
  await sleep(1_500);
  return await token();
};
const never = () => new Promise<never>(() => undefined);

// A call got an error where it only had to wait for the lease of a process that had died.
test("a token that another process refreshes is asked for again, and the call is sent once", async () => {
  let asked = 0;
  const { server, step } = await start(
    async () => {
      asked += 1;
      if (asked > 2) return await token();
      const data = { reason: "refresh-under-way" } as const;
      throw new McpSessionError("CONNECTION_UNAVAILABLE", "Another process refreshes it.", {
        data,
      });
    },
    { session: "stateful" },
  );
  await step({}, async (registry) => {
    const tools = await registry.tools();
    expect(await callForText(tools, "notes__add_note", { text: "tea" })).toBe("1 notes");
  });
  expect(asked).toBe(3);
  expect(server.requests.filter(({ message }) => message?.method === "tools/call")).toHaveLength(1);
});

describe.each(["stateful", "stateless"] as const)("a token that does not come, %s,", (session) => {
  test("is not told as a server that is silent", async () => {
    const { server, step, events } = await start(never, { session, timeouts: { connectMs: 500 } });
    await step({}, async (registry) => {
      const error = await registry.client("notes").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        message: expect.stringMatching(
          /auth gave nothing within 500 ms, and the server was not asked/,
        ),
        data: { connection: "notes", field: "auth" },
      });
      expect((error as McpSessionError).data.reason).toBeUndefined();
    });
    expect(server.requests).toEqual([]);
    expect(events.filter(({ type }) => type === "unavailable")).toMatchObject([
      { reason: undefined },
    ]);
  });

  test("takes nothing of the server's time when it comes late", async () => {
    const { server, step } = await start(lateToken, { session, timeouts: { connectMs: 2_000 } });
    server.intercept(
      on("initialize", async () => {
        await sleep(1_000);
        return "next" as const;
      }),
    );
    await step({}, async (registry) => {
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    });
  });
});

test("a token that comes late takes nothing of the time for an answer on a kept session", async () => {
  let getToken: () => Promise<ConnectionToken> = token;
  const timeouts = { connectMs: 3_000, answerMs: 500 };
  const { step } = await start(() => getToken(), { session: "stateful", timeouts });
  const session = await step({}, (registry) => registry.tools());
  getToken = lateToken;
  await step(session, async (registry) => {
    expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
  });
});

test("a call of a kept session waits for its token no longer than connectMs", async () => {
  let getToken: () => Promise<ConnectionToken> = token;
  const options = { session: "stateful", timeouts: { connectMs: 500 } } as const;
  const { step } = await start(() => getToken(), options);
  const session = await step({}, (registry) => registry.tools());
  getToken = never;
  await step(session, async (registry) => {
    const tools = await registry.tools();
    await expect(callForText(tools, "notes__list_notes")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { field: "auth" },
    });
  });
});

test("a token that is revoked between its renewal and the second request needs a sign-in", async () => {
  const tokens = ["first", "second"];
  const locked = new McpSessionError("AUTHORIZATION_REQUIRED", "Sign in.", {
    data: { connection: "notes", startUrl: "https://app.test/start" },
  });
  const nextToken = async () => {
    const [next] = tokens.splice(0, 1);
    if (next === undefined) throw locked;
    return { token: next };
  };
  const { server, step } = await start(nextToken, { session: "stateful" });
  const refusing = on("tools/call", (_request, response) => {
    response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  await step({}, async (registry) => {
    const tools = await registry.tools();
    server.intercept(refusing);
    await expect(callForText(tools, "notes__list_notes")).rejects.toMatchObject({
      code: "AUTHORIZATION_REQUIRED",
      data: { startUrl: "https://app.test/start" },
    });
  });
});
