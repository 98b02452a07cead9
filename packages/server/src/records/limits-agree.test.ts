import { expect, test } from "vitest";
import { z } from "zod";
import { readMessages, cancellation, toolCall } from "../../test/raw-client.ts";
import { createReplicas, startSession } from "../../test/replicas.ts";

const lengthOf = (message: object) => JSON.stringify(message).length;
const fits = (capabilities: object) => {
  const clientInfo = { name: "raw", version: "1" };
  return lengthOf({ protocolVersion: "2025-11-25", capabilities, clientInfo }) <= 65_536;
};

/** Takes six characters of JSON each. */
const control = "\u0001";

test("a session whose parts are all as large as they may be can still be stored", async () => {
  const { start, store } = createReplicas({ limits: { stateBytes: 800_000 } });
  const [one, two] = [start(), start()];
  const capabilities = { experimental: { x: { y: "" } } };
  const y = control.repeat(10_800);
  capabilities.experimental.x.y = y;
  while (fits(capabilities)) capabilities.experimental.x.y += "y";
  capabilities.experimental.x.y = capabilities.experimental.x.y.slice(0, -1);
  const id = await one.client.initialize(capabilities);
  // As many subscriptions as are taken, of texts that are long in JSON.
  let refused: string | undefined;
  for (let n = 0; refused === undefined && n < 100; n += 1) {
    const params = { uri: `a://${n}/${control.repeat(1_000)}` };
    const [answer] = await readMessages(
      await one.client.post(id, { id: n, method: "resources/subscribe", params }),
    );
    refused = answer?.message.error?.data?.code;
  }
  expect(refused).toBe("STATE_INVALID");
  for (let n = 0; n < 120; n += 1) {
    const requestId = `${n}${control.repeat(250)}`;
    expect((await one.client.post(id, cancellation(requestId))).status).toBe(202);
  }
  const overhead = JSON.stringify({ notes: [""] }).length;
  const text = "x".repeat(800_000 - overhead);
  expect(await one.client.call(id, "add", { text })).toMatchObject({ text: "1 notes" });
  const answer = await one.client.call(id, "add", { text: "" });
  expect(answer.error?.data?.code).toBe("STATE_INVALID");
  expect((await two.client.call(id, "list")).text).toBe(text);
  const { records } = await store.list({ limit: 100 });
  const session = records.find(({ key }) => key.includes('"session"'))!;
  expect(JSON.stringify(session.value).length).toBeGreaterThan(950_000);
}, 20_000);

test.each([
  ["exactly as long as an answer may be", 0, 950_000],
  ["one character longer", 1, "OUTCOME_UNKNOWN"],
])("an answer %s is kept accordingly", async (_, more, kept) => {
  const maxLength = 950_000;
  const { start } = createReplicas({
    events: { maxLength },
    setUp: (mcp) =>
      mcp.registerTool("print", { inputSchema: { text: z.string() } }, ({ text }) => ({
        content: [{ type: "text", text }],
      })),
  });
  const [one, two] = [start(), start()];
  const id = await one.client.initialize();
  const print = async (text: string) =>
    (await readMessages(await one.client.post(id, toolCall(1, "print", { text }))))[0];
  const empty = lengthOf((await print(""))!.message);
  // The limit is in characters, not in bytes.
  const answer = await print("é".repeat(maxLength + more - empty));
  expect(lengthOf(answer!.message)).toBe(maxLength + more);
  expect(answer!.message.result).toBeDefined();
  const before = answer!.eventId!.replace(/^([^.]+)\.1\./, "$1.0.");
  const [resumed] = await readMessages(await two.client.get(id, before));
  expect(resumed!.message.error?.data?.code ?? lengthOf(resumed!.message)).toBe(kept);
});

test("as many listening messages as are kept fit into their record", async () => {
  const { client, id, events, servers } = await startSession({
    events: { maxLength: 950_000, maxEvents: 500 },
  });
  const data = "x".repeat(1_830);
  const send = () =>
    servers[0]!.server.notification({
      method: "notifications/message",
      params: { level: "info", data },
    });
  await Promise.all(Array.from({ length: 520 }, send));
  expect(events.filter(({ type }) => type === "store-failed")).toEqual([]);
  expect(await client.call(id, "list")).toMatchObject({ status: 200 });
});
