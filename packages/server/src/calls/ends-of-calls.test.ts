import { expect, test } from "vitest";
import { readMessages, takeEventId, toolCall, cancellation } from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";
import type { ConnectableServer } from "../author/server-session.ts";
import type { ServerTransport } from "../base/mcp-types.ts";

test("a client that comes back for a call that it cancelled is not left waiting", async () => {
  const { client, id } = await startSession();
  const first = await takeEventId(await client.post(id, toolCall(7, "hang")));
  await client.post(id, cancellation(7));
  const [answer] = await readMessages(await client.get(id, first));
  expect(answer?.message).toMatchObject({ id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } });
});

test("the draft of a call that is cancelled is dropped, and that of one that fails is stored", async () => {
  const { client } = createReplicas().start({
    setUp: (mcp, session) => {
      mcp.registerTool("fail", {}, () => {
        session.state.notes.push("of a failed call");
        throw new Error("no");
      });
      mcp.registerTool("add_and_wait", {}, async ({ signal }) => {
        session.state.notes.push("of a cancelled call");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { content: [] };
      });
    },
  });
  const id = await client.initialize();
  expect(await client.call(id, "fail")).toMatchObject({ text: "no" });
  const call = client.call(id, "add_and_wait", {}, "slow");
  await client.whenInFlight(id, "slow");
  expect((await client.post(id, cancellation("slow"))).status).toBe(202);
  await call;
  expect(await client.call(id, "list")).toMatchObject({ text: "of a failed call" });
});

test("a cancellation that comes while the answer is stored comes too late", async () => {
  const replicas = createReplicas();
  const { client, control } = replicas.start();
  const id = await client.initialize();
  control.interfere = async (operation, run, keys) => {
    if (operation === "batch" && keys.includes('"answer"')) {
      control.interfere = undefined;
      await client.post(id, cancellation(7));
    }
    return await run();
  };
  expect(await client.call(id, "add", { text: "a" }, 7)).toMatchObject({ text: "1 notes" });
});

test("a cancellation of an earlier request does not reach a later one with the same id", async () => {
  const { one, two, id } = await startTwo();
  await one.client.call(id, "list", {}, "x");
  await two.client.post(id, cancellation("x"));
  // Long enough for the call to look for cancellations.
  expect(await one.client.call(id, "wait", { ms: 100 }, "x")).toMatchObject({ text: "waited" });
});

test("a call whose session ended meanwhile is told so", async () => {
  const replicas = createReplicas({ timeouts: { pollIntervalMs: 5_000 } });
  const ended = Promise.withResolvers<void>();
  const one = replicas.start({
    setUp: (mcp, session) => {
      mcp.registerTool("work", {}, async () => {
        await ended.promise;
        session.state.notes.push("a");
        return { content: [] };
      });
    },
  });
  const id = await one.client.initialize();
  const call = one.client.call(id, "work", {}, "slow");
  await one.client.whenInFlight(id, "slow");
  await replicas.start().client.end(id);
  ended.resolve();
  expect((await call).error?.data?.code).toBe("SESSION_LOST");
});

test("a call that was answered before its lease was written does not hold the lease", async () => {
  const replicas = createReplicas({ timeouts: { leaseMs: 90 } });
  const { client, control } = replicas.start();
  const id = await client.initialize();
  let leaseKey = "";
  control.interfere = async (operation, run, key) => {
    if (operation === "put" && key.includes('"replica"') && leaseKey === "") {
      leaseKey = key;
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    return await run();
  };
  expect(await client.call(id, "wait", { ms: 30 })).toMatchObject({ text: "waited" });
  expect(leaseKey).not.toBe("");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await replicas.store.get(leaseKey)).toBeUndefined();
});

/** The results that a hasty server sends, all of them. */
function hastyResults(method: string): Record<string, unknown>[] {
  if (method !== "initialize") return [{ content: [{ type: "text", text: "first" }] }, {}];
  const serverInfo = { name: "a", version: "1" };
  return [{ protocolVersion: "2025-11-25", capabilities: {}, serverInfo }];
}

test("of two answers to one request the first counts, while it is stored and after that", async () => {
  let transport: ServerTransport;
  // A server that is neither SDK's.
  const server: ConnectableServer = {
    close: async () => {},
    connect: async (given) => {
      transport = given;
      const onmessage = (message: { id?: number; method: string }) => {
        if (message.id === undefined) return;
        for (const result of hastyResults(message.method)) {
          void transport.send({ jsonrpc: "2.0", id: message.id, result });
        }
      };
      Object.assign(transport, { onmessage });
    },
  };
  const { client, id } = await startSession({ createServer: () => server });
  for (const n of [1, 2]) {
    const { messages, text } = await client.call(id, "any", {}, n);
    expect([messages?.length, text]).toEqual([1, "first"]);
    await transport!.send({ jsonrpc: "2.0", id: n, result: {} });
  }
});

test("a session is in use while a call runs, and nothing is read for it after that", async () => {
  const replicas = createReplicas({ timeouts: { idleMs: 500 } });
  const { client, control } = replicas.start();
  const id = await client.initialize();
  expect(await client.call(id, "wait", { ms: 700 })).toMatchObject({ text: "waited" });
  let reads = 0;
  control.interfere = async (_operation, run) => {
    reads += 1;
    return await run();
  };
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(reads).toBe(0);
  expect(await client.call(id, "list")).toMatchObject({ status: 200 });
});

test("a server that was asked to subscribe is not told again", async () => {
  const { lines, start } = createReplicas();
  const { client } = start();
  const id = await client.initialize();
  await client.post(id, { id: 1, method: "resources/subscribe", params: { uri: "a:b" } });
  await client.call(id, "list");
  expect(lines.filter((line) => line.startsWith("subscribed"))).toEqual(["subscribed a:b"]);
});
