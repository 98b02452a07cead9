import { describe, expect, test } from "vitest";
import { sendResult, sendText, startMcpServer, toolDefinition } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

/** A step with a kept list of one tool, "a", on a server that has forgotten the session. */
async function startLostStep({ isListKept = true } = {}) {
  const server = await startMcpServer();
  const saved = await saveSession(server);
  const toolList = { tools: [toolDefinition("a")], listedAt: 0 };
  const snapshot = isListKept ? { ...saved, toolList } : saved;
  server.forgetSessions();
  return { ...startStep(server, { snapshot, now: () => 1 }), server };
}

const recovery = ["POST initialize", "POST notifications/initialized"];

test("lists again before the requests that wait for the new session go on", async () => {
  const { client, server, slot, events } = await startLostStep();
  await client.request("ping");
  expect(server.log).toEqual(["POST ping", ...recovery, "POST tools/list", "POST ping"]);
  expect(server.requests[3]?.headers["mcp-session-id"]).toBe("secret-session-2");
  expect(slot.snapshot).toMatchObject({
    sessionId: "secret-session-2",
    toolList: { tools: [toolDefinition("echo")], listedAt: 1 },
  });
  expect(events).toContainEqual({
    ...{ type: "tools-changed", reason: "new-session" },
    ...{ added: ["echo"], removed: ["a"], changed: [] },
  });
  expect((await client.request("tools/list")).result.tools).toEqual([toolDefinition("echo")]);
  expect(server.log).toHaveLength(5);
});

test("says nothing when the tools are the same, and reads all pages", async () => {
  const { client, server, slot, events } = await startLostStep();
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/list") return next();
    const isFirst = message.params === undefined;
    sendResult(response, message.id, {
      tools: isFirst ? [] : [toolDefinition("a")],
      nextCursor: isFirst ? "page-2" : undefined,
    });
  });
  await client.request("ping");
  expect(
    server.requests
      .filter(({ message }) => message.method === "tools/list")
      .map(({ message }) => message.params),
  ).toEqual([undefined, { cursor: "page-2" }]);
  expect(slot.snapshot).toMatchObject({ toolList: { tools: [toolDefinition("a")] } });
  expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered"]);
});

test("does not list when no list was kept", async () => {
  const { client, server } = await startLostStep({ isListKept: false });
  await client.request("ping");
  expect(server.log).toEqual(["POST ping", ...recovery, "POST ping"]);
});

test("does not list when the save point brought a list along", async () => {
  const { server } = await startLostStep();
  const other = startStep(server, { now: () => 1 });
  await other.client.handshake();
  await other.client.request("tools/list");
  const snapshot = {
    ...other.slot.snapshot!,
    sessionId: "gone",
    toolList: { tools: [], listedAt: 0 },
  } as never;
  server.requests.length = 0;
  const { client } = startStep(server, {
    snapshot,
    now: () => 1,
    onSession: () => other.slot.snapshot,
  });
  await client.request("ping");
  const posts = server.requests.filter(({ method }) => method === "POST");
  expect(posts.map(({ message }) => `POST ${message.method}`)).toEqual([
    ...["POST ping", ...recovery, "POST ping"],
  ]);
  expect(posts.at(-1)?.headers["mcp-session-id"]).toBe("secret-session-2");
});

describe("that fails does not fail the recovery", () => {
  test.each<[string, Parameters<typeof startMcpServer>[0]]>([
    [
      "refused",
      ({ message }, response, next) =>
        message?.method === "tools/list" ? sendText(response, 500, "no") : next(),
    ],
    [
      "broken",
      ({ message }, response, next) =>
        message?.method === "tools/list" ? response.destroy() : next(),
    ],
  ])("%s", async (_, handler) => {
    const { client, server, slot } = await startLostStep();
    server.use(handler!);
    expect(await client.request("ping")).toHaveProperty("result");
    expect(slot.snapshot).not.toHaveProperty("toolList");
  });

  test("with an endless list", async () => {
    const { client, server } = await startLostStep();
    server.use(({ message }, response, next) => {
      if (message?.method !== "tools/list") return next();
      sendResult(response, message.id, { tools: [], nextCursor: String(server.requests.length) });
    });
    expect(await client.request("ping")).toHaveProperty("result");
    expect(server.log.filter((entry) => entry === "POST tools/list").length).toBeLessThanOrEqual(
      100,
    );
  });
});
