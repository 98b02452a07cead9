import { inspect } from "node:util";
import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyServer, createFaultyStore } from "@durable-mcp/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { begin, get, messagesOf, post, readEvents, toolCall } from "../../test/raw-client.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

interface Failing {
  readonly at: number;
  readonly side: "before" | "after";
}

/** A store of which one operation fails, before or after it was done. */
function storeThatFails({ at, side }: Failing) {
  const faulty = createFaultyStore(createMemoryStore());
  let count = 0;
  faulty.meet("*", async (operate) => {
    count += 1;
    if (count !== at) return await operate();
    if (side === "after") await operate();
    throw new Error("the store is away");
  });
  return { store: faulty.store, count: () => count };
}

/** A server whose tool counts, and whose tool `work` waits; its streams have no event ids. */
async function startServer() {
  const going = Promise.withResolvers<void>();
  const done: string[] = [];
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: {
      note: ({ key }: any) => `${done.push(key)}`,
      async work({ key }: any) {
        await going.promise;
        return `${done.push(key)}`;
      },
    },
  });
  onTestFinished(() => {
    going.resolve();
    return server.close();
  });
  return { server, done, go: () => going.resolve() };
}

/** The life of a client's session, in two processes. One call may fail, and is told as it is; nothing is carried out twice. */
async function live(name: string, failing: Failing): Promise<number> {
  const { store, count } = storeThatFails(failing);
  const { server, done } = await startServer();
  const [one, two] = await Promise.all(
    [1, 2].map(async () => `${(await serveGateway(server.url, { store })).url}${name}`),
  );
  const session = await begin(one!).catch(async () => await begin(one!));
  const call = async (url: string, key: string) => {
    const response = await post(url, toolCall(key, "note", { key }), { session });
    // The gateway's own refusal, for which clients send it again.
    if (response.status === 503) return await call(url, key);
    expect(response.status).toBe(200);
    const [answer] = await messagesOf(response);
    expect(answer).toMatchObject({ id: key, result: { content: expect.any(Array) } });
    const isUnknown = JSON.stringify(answer).includes("unknown");
    const mayBe = answer.result.isError !== true ? [1] : isUnknown ? [0, 1] : [0];
    expect(mayBe).toContain(done.filter((each) => each === key).length);
  };
  await call(one!, "a");
  await call(two!, "b");
  server.forgetSessions();
  await call(two!, "c");
  await call(one!, "d");
  await call(two!, "e");
  expect(done.length).toBeGreaterThanOrEqual(failing.at === 0 ? 5 : 4);
  expect(new Set(done).size).toBe(done.length);
  const headers = { authorization: "Bearer ann", "mcp-session-id": session };
  const end = async () => (await fetch(two!, { method: "DELETE", headers })).status;
  const status = await end();
  expect([204, 404]).toContain(status === 204 ? status : await end());
  return count();
}

test.each(["", "@work"])(
  "a single operation of the store that fails costs no call and no session: shop%s",
  async (name) => {
    const operations = await live(name, { at: 0, side: "before" });
    expect(operations).toBeGreaterThan(8);
    for (let at = 1; at <= operations; at += 1)
      for (const side of ["before", "after"] as const) await live(name, { at, side });
  },
  60_000,
);

test.each(["", "@work"])(
  "a store that is away is not called the server's fault: shop%s",
  async (name) => {
    const { server, done } = await startServer();
    const faulty = createFaultyStore(createMemoryStore());
    const one = await serveGateway(server.url, { store: faulty.store });
    const url = `${one.url}${name}`;
    const session = await begin(url);
    server.forgetSessions();
    // As ioredis does it, with what it was to write.
    const failed = Object.assign(new Error("the store is away"), { command: { args: ["s3cr3t"] } });
    faulty.meet("*", () => Promise.reject(failed));
    const printed = vi.spyOn(console, "error");
    onTestFinished(() => printed.mockRestore());
    const [answer] = await messagesOf(
      await post(url, toolCall(1, "note", { key: "a" }), { session }),
    );
    expect(answer.result.content[0].text).toMatch(/gateway.*store.*not carried out/);
    await expect(begin(url)).rejects.toThrow(/503.*gateway/);
    expect(inspect(printed.mock.calls, { depth: 9 })).toMatch(/store failed at (?!.*s3cr3t)/s);
    expect(done).toEqual([]);
  },
);

test.each(["before", "after"] as const)(
  "an answer whose client has left is kept though the store fails once, %s",
  async (side) => {
    for (const at of [1, 2, 3, 4]) {
      const { server, done, go } = await startServer();
      const faults = { at: 0, side };
      const faulty = createFaultyStore(createMemoryStore());
      let count = 0;
      faulty.meet("*", async (operate, { keys }) => {
        if (!keys.some((key) => key.startsWith("gateway-answer/"))) return await operate();
        count += 1;
        if (count !== faults.at) return await operate();
        if (side === "after") await operate();
        throw new Error("the store is away");
      });
      const { store } = faulty;
      const { url } = await serveGateway(server.url, { store });
      const session = await begin(url);
      const events = readEvents(await post(url, toolCall(1, "work", { key: "k" }), { session }));
      const { id } = (await events.next())!;
      faults.at = at;
      await events.leave();
      setTimeout(go, 300);
      await expect.poll(() => done).toEqual(["k"]);
      await expect
        .poll(async () => JSON.stringify((await store.list({ limit: 10 })).records), {
          timeout: 10_000,
        })
        .toContain('"result');
      const other = await serveGateway(server.url, { store });
      const resumed = readEvents(await get(other.url, { session, lastEventId: id! }));
      const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
      expect(messages).toMatchObject([{ id: 1, result: { content: [{ text: "1" }] } }]);
      expect(count).toBeGreaterThan(at);
    }
  },
  60_000,
);

test("a client that comes back reads in its first stream what is known, though the store fails at some looks", async () => {
  const { server, done } = await startServer();
  const memory = createMemoryStore();
  const { url } = await serveGateway(server.url, { store: memory });
  const session = await begin(url);
  const response = await post(url, toolCall(1, "work", { key: "k" }), { session });
  const { id } = (await readEvents(response).next())!;
  const faulty = createFaultyStore(memory);
  let looks = 0;
  faulty.meet("get", async (operate, { keys }) => {
    if (!keys.some((key) => key.startsWith("gateway-answer/"))) return await operate();
    looks += 1;
    if (looks % 2 === 0) return await operate();
    throw new Error("the store is away");
  });
  const other = await serveGateway(server.url, { store: faulty.store });
  const resumed = readEvents(await get(other.url, { session, lastEventId: id! }));
  const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
  expect(messages).toMatchObject([{ id: 1, result: { isError: true } }]);
  expect(looks).toBeGreaterThan(4);
  expect(done).toEqual([]);
});
