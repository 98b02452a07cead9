import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { createRandom, createUnsteadyStore } from "../../test/unsteady-store.ts";
import { createNotesServer } from "../../test/notes-server.ts";
import { readMessages, takeEventId } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";
import { withDefaults } from "../base/settings.ts";
import { createMailbox } from "../streams/mailbox.ts";
import { createStoreContext } from "./store-context.ts";
import { newSessionRecord } from "./session-record.ts";

const mail = (id: string) => ({ jsonrpc: "2.0" as const, id, result: {} });

const seeds = [1, 2, 3, 4];

function startFaulty(seed: number, { inARow = 1, isBatching = true } = {}) {
  const random = createRandom(seed);
  const memory = createMemoryStore();
  if (!isBatching) delete memory.batch;
  // One of two writes in a row fails, so that each retry meets a store that works.
  const faulty = createUnsteadyStore(memory, { random, share: 0.4, inARow });
  const replicas = createReplicas();
  const start = () => replicas.start({ store: faulty.store });
  return { ...replicas, ...faulty, random, start, memory };
}

const countOf = (texts: readonly string[]) =>
  texts.reduce(
    (counts, text) => counts.set(text, (counts.get(text) ?? 0) + 1),
    new Map<string, number>(),
  );

describe.each([
  ["with batches", true],
  ["without batches", false],
])(
  "a store whose writes fail now and then, before or after they are done (%s)",
  (_, isBatching) => {
    test.each(seeds)("loses and doubles no change, and no answer (seed %i)", async (seed) => {
      const { start, counts, random } = startFaulty(seed, { isBatching });
      const replicas = [start(), start()];
      const id = await replicas[0]!.client.initialize();
      const expected: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        const { client } = replicas[random() < 0.5 ? 0 : 1]!;
        const tool = random() < 0.5 ? "add" : "add_with_update";
        expect(await client.call(id, tool, { text: `n${n}` })).toMatchObject({ status: 200 });
        expected.push(`n${n}`);
      }
      expect((await replicas[0]!.client.call(id, "list")).text).toBe(expected.join(","));
      expect(counts.before).toBeGreaterThan(3);
      expect(counts.after).toBeGreaterThan(3);
    });

    test.each(seeds)("keeps each answer for a client that comes back (seed %i)", async (seed) => {
      const { start } = startFaulty(seed, { isBatching });
      const [one, two] = [start(), start()];
      const id = await one.client.initialize();
      for (let n = 0; n < 8; n += 1) {
        const params = { name: "add_slowly", arguments: { text: `n${n}`, ms: 8 } };
        const broken = await one.client.post(id, { id: n, method: "tools/call", params });
        const [answer] = await readMessages(await two.client.get(id, await takeEventId(broken)));
        expect(answer?.message.result?.content?.[0]?.text).toBe("added");
      }
      const notes = (await two.client.call(id, "list")).text!.split(",");
      expect(notes).toHaveLength(8);
    });
  },
);

test.each(seeds)(
  "parallel updates on two replicas are each carried out once (seed %i)",
  async (seed) => {
    const { start } = startFaulty(seed);
    const replicas = [start(), start()];
    const id = await replicas[0]!.client.initialize();
    const texts = Array.from({ length: 40 }, (_, n) => `n${n}`);
    const answers = await Promise.all(
      texts.map((text, n) => replicas[n % 2]!.client.call(id, "add_with_update", { text })),
    );
    const counts = countOf((await replicas[0]!.client.call(id, "list")).text!.split(","));
    for (const [n, { text }] of answers.entries()) {
      const count = counts.get(`n${n}`) ?? 0;
      // A write that failed, with another one on top of it, may have been done: the client is told so.
      expect(text === "added" ? count === 1 : count <= 1).toBe(true);
    }
    const told = answers.filter(({ text }) => text !== "added");
    expect(told.length).toBeLessThan(20);
  },
);

test.each(seeds)(
  "a store that fails for longer doubles nothing that is called again (seed %i)",
  async (seed) => {
    const { start } = startFaulty(seed, { inARow: 4 });
    const { client } = start();
    let id: string | undefined;
    while (id === undefined) id = await client.initialize().catch(() => undefined);
    const done: string[] = [];
    const unknown: string[] = [];
    for (let n = 0; n < 40; n += 1) {
      const { text } = await client.call(id, "add", { text: `n${n}` });
      (text === undefined ? unknown : done).push(`n${n}`);
    }
    const notes = (await client.call(id, "list")).text!.split(",");
    const counts = countOf(notes);
    for (const text of done) expect(counts.get(text)).toBe(1);
    for (const text of unknown) expect(counts.get(text) ?? 0).toBeLessThan(2);
  },
);

test.each(seeds)(
  "messages of the listening stream arrive once, in their order (seed %i)",
  async (seed) => {
    const { start, store } = startFaulty(seed);
    const servers: ReturnType<typeof createNotesServer>[] = [];
    const replicas = createReplicas({
      store,
      createServer: ({ session }) => {
        servers.push(createNotesServer(session));
        return servers.at(-1)!;
      },
    });
    const { client } = replicas.start();
    start();
    const id = await client.initialize();
    const expected: string[] = [];
    for (let n = 0; n < 12; n += 1) {
      const data = `m${n}`;
      await servers[0]!.server.notification({
        method: "notifications/message",
        params: { level: "info", data },
      });
      expected.push(data);
    }
    const received: string[] = [];
    let lastEventId: string | undefined;
    // A stream whose store fails for longer ends, and its client comes back.
    while (received.length < expected.length) {
      const response = await client.get(id, lastEventId);
      const decoder = new TextDecoder();
      let text = "";
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk, { stream: true });
        const last = text.lastIndexOf("\n\n") + 2;
        for (const [, eventId] of text.slice(0, last).matchAll(/^id: (.*)$/gm))
          lastEventId = eventId;
        for (const [, data] of text.slice(0, last).matchAll(/"data":"(m\d+)"/g))
          received.push(data!);
        text = text.slice(last);
        if (received.length >= expected.length) break;
      }
    }
    expect(received).toEqual(expected);
  },
);

function someRecord() {
  return newSessionRecord("o", { protocolVersion: "", capabilities: {} }, "1", {}, Date.now());
}

test.each(seeds)("mail for another process arrives once, in its order (seed %i)", async (seed) => {
  const { random, store } = startFaulty(seed);
  const context = createStoreContext(store, withDefaults({}), () => undefined);
  const mailboxes = [createMailbox(context), createMailbox(context)];
  const found = await context.sessions.create("hash", someRecord(), 0);
  const received: unknown[] = [];
  const expected: string[] = [];
  for (let n = 0; n < 40; n += 1) {
    const message = { jsonrpc: "2.0" as const, id: `i.${n}`, result: {} };
    await mailboxes[0]!.leave(found, "instance", [message]);
    expected.push(message.id);
    if (random() < 0.5) received.push(...(await mailboxes[1]!.take("hash", "instance")));
  }
  received.push(...(await mailboxes[1]!.take("hash", "instance")));
  expect(received.map((message) => (message as { id: string }).id)).toEqual(expected);
});

test("mail whose removal fails for longer is taken once, by the next look", async () => {
  const memory = createMemoryStore();
  let fails = 0;
  let isDown = false;
  const context = createStoreContext(
    {
      ...memory,
      get: (key) => (isDown ? Promise.reject(new Error("down")) : memory.get(key)),
      delete: async (...args) => {
        const result = await memory.delete(...args);
        if (fails === 0) return result;
        isDown = --fails > 0;
        throw new Error("The connection broke.");
      },
    },
    withDefaults({}),
    () => undefined,
  );
  const mailbox = createMailbox(context);
  const found = await context.sessions.create("hash", someRecord(), 0);
  await mailbox.leave(found, "instance", [mail("i.1")]);
  fails = 1;
  expect(await mailbox.take("hash", "instance")).toEqual([mail("i.1")]);
  await mailbox.leave(found, "instance", [mail("i.2")]);
  fails = 2;
  await expect(mailbox.take("hash", "instance")).rejects.toMatchObject({ code: "STORE_FAILED" });
  isDown = false;
  fails = 0;
  await mailbox.leave(found, "instance", [mail("i.3")]);
  expect(await mailbox.take("hash", "instance")).toEqual([mail("i.2"), mail("i.3")]);
});

test.each(seeds)("a session that starts is stored once (seed %i)", async (seed) => {
  const { start, memory } = startFaulty(seed);
  const { client } = start();
  for (let n = 0; n < 10; n += 1) await client.initialize();
  const { records } = await memory.list({ limit: 100 });
  expect(records.filter(({ key }) => key.includes('"session"'))).toHaveLength(10);
});
