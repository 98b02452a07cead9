import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { createWaitingStore, parseWaitingRecord } from "@durable-mcp/core/waiting/internal";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import { startWatching } from "./watching.ts";

/** A store that counts its operations, by their kind. */
function counting(store: SessionStore, counts: Record<string, number>): SessionStore {
  const entries = Object.entries(store).map(([name, member]: [string, unknown]) => [
    name,
    typeof member !== "function"
      ? member
      : (...args: unknown[]) => {
          counts[name] = (counts[name] ?? 0) + 1;
          return member.apply(store, args) as unknown;
        },
  ]);
  return Object.fromEntries(entries) as SessionStore;
}

const of = (sessionId: string) => ({ agent: "default", sessionId, principal: alice });

/** What it costs to look at 20 watches that are due, beside others that are not. */
async function costOf(others: number) {
  const resource = "note://board";
  const { url } = await startNotebookServer({
    setUp: (mcp) =>
      void mcp.registerResource("board", resource, {}, () => ({
        contents: [{ uri: resource, text: "A" }],
      })),
  });
  let time = Date.now();
  const now = () => time;
  const counts: Record<string, number> = {};
  const plain = createMemoryStore({ now });
  const store = counting(plain, counts);
  const notes = defineMcpClientConnection({
    ...{ url, description: "Notes.", session: "stateful", waiting: { watch: true } },
  });
  const sessions = createDurableSessions({ connections: { notes }, store, now });
  const watch = async (chat: string, everyMs?: number) =>
    await sessions.run(chat, { principal: alice }, (run) =>
      run.watch("notes", { resource }, { everyMs }),
    );
  for (let chat = 0; chat < 20; chat += 1) await watch(`due-${chat}`);
  const { id } = await watch("later", 86_400_000);
  const call = parseWaitingRecord(await createWaitingStore(plain, of("later")).value(id))!;
  for (let chat = 1; chat < others; chat += 1) {
    const calls = createWaitingStore(plain, of(`later-${chat}`));
    await calls.create({ ...call, due: await calls.reference() });
  }
  time += 60_000;
  for (const name of Object.keys(counts)) delete counts[name];
  let looked = 0;
  for await (const { reference } of sessions.admin.due())
    if (await sessions.admin.check(reference)) looked += 1;
  expect(looked).toBe(20);
  return counts;
}

test("10,000 watches of which 20 are due cost what 20 cost", async () => {
  const few = await costOf(1);
  const many = await costOf(9_980);
  expect(many).toEqual(few);
  expect(few["list"]).toBe(1 + 20);
  const all = Object.values(few).reduce((sum, count) => sum + count, 0);
  expect((all - 1) / 20).toBeLessThanOrEqual(9);
}, 60_000);

test("a list of what waits reads no news", async () => {
  const listed: string[] = [];
  const watching = await startWatching((now) => {
    const store = createMemoryStore({ now });
    return {
      ...store,
      async list(query) {
        const page = await store.list(query);
        listed.push(...page.records.map(({ value }) => JSON.stringify(value)));
        return page;
      },
    };
  });
  const { watch, board, looked, pass, sessions } = watching;
  await watch();
  board.text = "news of the board";
  pass();
  await looked();
  listed.length = 0;
  expect(await sessions.waiting("chat", { principal: alice })).toMatchObject([{ news: 1 }]);
  expect(listed).toHaveLength(1);
  expect(listed.join()).not.toContain("news of the board");
});
