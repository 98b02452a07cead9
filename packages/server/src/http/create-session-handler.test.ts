import { expect, test } from "vitest";
import { createReplicas, startTwo, startSession } from "../../test/replicas.ts";
import { McpServer } from "@modelcontextprotocol/server";
import { toolCall, readMessages } from "../../test/raw-client.ts";

test.each(["sse", "json"] as const)("serves a session, answers as %s", async (responseFormat) => {
  const { client } = createReplicas().start({ responseFormat });
  const id = await client.initialize();
  expect(await client.call(id, "add", { text: "a" })).toMatchObject({ text: "1 notes" });
  expect(await client.call(id, "list")).toMatchObject({ text: "a" });
});

test.each([1, 2] as const)(
  "restores a session under its own id, state and all (SDK %i)",
  async (sdk) => {
    const replicas = createReplicas({ sdk });
    const before = replicas.start();
    const id = await before.client.initialize();
    await before.client.call(id, "add", { text: "a" });
    await before.client.post(id, { id: 5, method: "logging/setLevel", params: { level: "error" } });
    const params = { uri: "notes://all" };
    await before.client.post(id, { id: 6, method: "resources/subscribe", params });

    replicas.lines.length = 0;
    const after = replicas.start();
    expect(await after.client.call(id, "add", { text: "b" })).toMatchObject({
      text: "2 notes",
      sessionId: id,
    });
    expect(replicas.lines).toEqual(["initialized", "level error", "subscribed notes://all"]);
    expect(replicas.events.map(({ type }) => type)).toEqual(["started", "restored"]);
  },
);

test("sees on one replica the changes of another", async () => {
  const { one, two, id, ...replicas } = await startTwo();
  for (const [index, text] of ["a", "b", "c", "d"].entries()) {
    await [one, two][index % 2]!.client.call(id, "add", { text });
  }
  expect(await one.client.call(id, "list")).toMatchObject({ text: "a,b,c,d" });

  replicas.lines.length = 0;
  await one.client.post(id, { id: 5, method: "logging/setLevel", params: { level: "error" } });
  await two.client.call(id, "list");
  expect(replicas.lines).toEqual(["level error", "level error"]);
});

test.each([1, 2] as const)(
  "ends a session on all replicas, and closes its servers (SDK %i)",
  async (sdk) => {
    const { one, two, id, ...replicas } = await startTwo({ sdk });
    await two.client.call(id, "list");
    expect((await one.client.end(id)).status).toBe(200);
    expect(await two.client.call(id, "list")).toMatchObject({ status: 404 });
    expect(await one.client.call(id, "list")).toMatchObject({ status: 404 });
    expect(two.handler.liveSessions).toBe(0);
    expect(replicas.lines.filter((line) => line === "closed")).toHaveLength(2);
    expect((await replicas.store.list({ limit: 100 })).records.map(({ key }) => key)).toEqual(
      expect.not.arrayContaining([expect.stringContaining('"session"')]),
    );
  },
);

test("a server of SDK 2 reads its client's HTTP request", async () => {
  const { client, id } = await startSession({
    createServer: () => {
      const mcp = new McpServer({ name: "who", version: "1" });
      mcp.registerTool("who", {}, ({ http }) => ({
        content: [{ type: "text", text: http?.req?.headers.get("x-from") ?? "nobody" }],
      }));
      return mcp;
    },
  });
  const response = await client.post(id, toolCall(5, "who"), { "x-from": "ada" });
  const [answer] = await readMessages(response);
  expect(answer?.message.result?.content?.[0]?.text).toBe("ada");
});
