/** References of `due` go through queues: whoever changes one gets nothing by it. */
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { alice, callTool } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";

/** A question whose time is up, and what two agents of one store find due. */
async function start(wrap: (typeof bothStores)[number][1]) {
  const shop = await startAskingServer();
  const store = wrap(createMemoryStore());
  let time = Date.now();
  const connection = { url: shop.url, description: "A shop.", waiting: true } as const;
  const connections = { shop: defineMcpClientConnection(connection) };
  const agentOf = (agent: string) =>
    createDurableSessions({ connections, store, agent, now: () => time });
  const agents = [agentOf("one"), agentOf("other")] as const;
  for (const sessions of agents) {
    await sessions.run("chat", { principal: alice }, async (run) =>
      callTool(await run.tools(), "shop__order", { item: "tea" }),
    );
  }
  time += 8 * 86_400_000;
  const [own, other] = await Promise.all(
    agents.map(async ({ admin }) => {
      for await (const { reference } of admin.due()) return reference;
      throw new Error("Nothing is due.");
    }),
  );
  return { shop, store, admin: agents[0].admin, own: own!, other: other! };
}

const forgeries: [name: string, forge: (own: string, other: string) => string][] = [
  ["another agent's", (_, other) => other],
  [
    "one of two calls",
    (own, other) => [...own.split(".").slice(0, 2), other.split(".")[2]].join("."),
  ],
  ["of another chat", (own) => own.replace(/^[0-9a-f]{32}/, "0".repeat(32))],
  ["cut", (own) => own.slice(0, -1)],
  ["longer", (own) => `${own}0`],
  ["in capitals", (own) => own.toUpperCase().replace(/^\d*/, "F")],
  ["a path", (own) => `../${own}`],
  ["a key of the store", (own) => `due/"one"/${own}`],
  ["a pattern", () => "%"],
  ["with a NUL", (own) => `${own}\0`],
  ["a name that objects have", () => "__proto__"],
  ["endless", (own) => own.repeat(10_000)],
];

test.each(
  bothStores.flatMap(([name, wrap]) =>
    forgeries.map(([how, forge]) => [name, how, wrap, forge] as const),
  ),
)("in %s a reference that is %s finds no call", async (_, __, wrap, forge) => {
  const { shop, store, admin, own, other } = await start(wrap);
  const forged = forge(own, other);
  expect(forged).not.toBe(own);
  const before = await store.list({ limit: 100 });
  expect(await admin.check(forged)).toBeUndefined();
  expect(await store.list({ limit: 100 })).toEqual(before);
  expect(shop.legs).toHaveLength(2);
  expect(await admin.check(own)).toMatchObject({ call: { state: "expired" }, principal: alice });
});
