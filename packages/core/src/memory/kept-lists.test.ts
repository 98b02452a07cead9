import { describe, expect, test } from "vitest";
import { createModernClient, startModernServer } from "../../test/memory-server.ts";
import { modernStep, probeListAndCall, startMemoryStep } from "../../test/memory-step.ts";
import { eventText, sendResult, startEvents } from "../../test/mcp-server.ts";
import { createServerMemory } from "./server-memory.ts";

const named = (...names: string[]) =>
  names.map((name) => ({ name, inputSchema: { type: "object" } }));
const tool = named("sql");

describe("a later step", () => {
  test("sends its call alone, as long as the server allows, page by page", async () => {
    let now = 1_000;
    const clock = { now: () => now };
    const server = await startModernServer({ pages: [tool, named("other")] });
    const { state } = server;
    const first = startMemoryStep(server, undefined, clock);
    expect(await probeListAndCall(first)).toMatchObject({ names: ["sql", "other"] });
    expect(server.takeLog()).toEqual([...modernStep.slice(0, 2), ...modernStep.slice(1)]);

    now += 59_999;
    const second = startMemoryStep(server, first.save(), clock);
    const { names, discovered } = await probeListAndCall(second);
    expect(names).toEqual(["sql", "other"]);
    expect(discovered).toMatchObject({
      ...{ id: 0, result: { supportedVersions: state.supportedVersions, ttlMs: 1 } },
    });
    expect(server.takeLog()).toEqual(["tools/call"]);
    expect([second.slot.changed, second.events]).toEqual([false, []]);

    now += 1;
    state.ttlMs = 10;
    const third = startMemoryStep(server, first.save(), clock);
    await third.modern.request("tools/list", { cursor: "1" });
    now += 9;
    await third.modern.list();
    expect(server.takeLog()).toEqual(["tools/list", "tools/list"]);
  });

  test("is answered under the id of its client, with its type", async () => {
    const server = await startModernServer();
    const first = startMemoryStep(server);
    await probeListAndCall(first);
    server.takeLog();
    const { modern } = startMemoryStep(server, first.save());
    const answer = await modern.request("tools/list", {}, { id: "a" } as RequestInit);
    expect(answer).toMatchObject({ jsonrpc: "2.0", id: "a", result: { cacheScope: "private" } });
    expect(server.takeLog()).toEqual([]);
  });

  test.each([
    ["of another revision", { version: "2027-01-01" }],
    [
      "with other capabilities",
      { capabilities: { extensions: { "io.modelcontextprotocol/ui": {} } } },
    ],
  ])("gets nothing that a client %s got", async (_, client) => {
    const server = await startModernServer({ supportedVersions: ["2026-07-28", "2027-01-01"] });
    const first = startMemoryStep(server);
    await probeListAndCall(first);
    server.takeLog();
    const second = startMemoryStep(server, first.save());
    const other = createModernClient(second.fetch, server.url, client);
    await probeListAndCall({ modern: other });
    expect(server.takeLog()).toEqual(modernStep);
    // Both are kept.
    await probeListAndCall(second);
    await probeListAndCall({ modern: other });
    expect(server.takeLog()).toEqual(["tools/call", "tools/call"]);
  });

  test.each([{ filter: "a" }, { inputResponses: {} }, { requestState: "a" }])(
    "asks with other parameters, and keeps none of it: %j",
    async (params) => {
      const server = await startModernServer();
      const first = startMemoryStep(server);
      await first.modern.list();
      const { modern, slot } = startMemoryStep(server, first.save());
      server.takeLog();
      for (let turn = 0; turn < 2; turn += 1) await modern.request("tools/list", params);
      expect(server.takeLog()).toEqual(["tools/list", "tools/list"]);
      expect(slot.changed).toBe(false);
    },
  );

  test.each(["public", "private"] as const)(
    "of another slot gets nothing of a %s result",
    async (cacheScope) => {
      const server = await startModernServer({ cacheScope });
      const first = startMemoryStep(server);
      await probeListAndCall(first);
      expect(first.slot.snapshot).toMatchObject({ kept: [{ scope: cacheScope }, {}] });
      server.takeLog();
      await probeListAndCall(startMemoryStep(server));
      expect(server.takeLog()).toEqual(modernStep);
    },
  );

  test("keeps the other lists, too", async () => {
    const server = await startModernServer();
    const methods = ["prompts/list", "resources/list", "resources/templates/list"];
    const first = startMemoryStep(server);
    for (const method of methods) await first.modern.request(method);
    const second = startMemoryStep(server, first.save());
    server.takeLog();
    for (const method of methods) await second.modern.request(method);
    expect(server.takeLog()).toEqual([]);
  });
});

describe("nothing is kept", () => {
  test.each([0, undefined, -1, 1.5, "60000" as unknown as number])(
    "with ttlMs %j",
    async (ttlMs) => {
      const server = await startModernServer({ ttlMs });
      const first = startMemoryStep(server);
      await probeListAndCall(first);
      expect(first.slot.snapshot).toBeUndefined();
      await probeListAndCall(startMemoryStep(server));
      expect(server.takeLog()).toEqual([...modernStep, ...modernStep]);
    },
  );

  test("of a result that is not complete, an error, or no result of its method", async () => {
    const answers = [
      { result: { resultType: "input_required", tools: [], ttlMs: 1_000 } },
      { result: { tools: "none", ttlMs: 1_000 } },
      { error: { code: -32_603, message: "later" } },
    ];
    const server = await startModernServer();
    server.state.before = ({ message }, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answers.shift() }));
      return true;
    };
    const { modern, slot } = startMemoryStep(server);
    for (const _ of [...answers]) await modern.request("tools/list");
    expect(slot.snapshot).toBeUndefined();
  });

  test("of a list that is larger than its limit, which is said once", async () => {
    const server = await startModernServer({ pages: [named("sql".padEnd(500, "x"))] });
    const toolList = { maxLength: 500 };
    const { modern, slot, events } = startMemoryStep(server, undefined, { toolList });
    for (let turn = 0; turn < 2; turn += 1) await probeListAndCall({ modern });
    expect(events).toEqual([{ type: "not-kept", method: "tools/list" }]);
    expect(slot.snapshot).toMatchObject({ kept: [{ method: "server/discover" }] });
  });

  test("of a page that leads back to itself: a client would go round without end", async () => {
    const server = await startModernServer();
    server.state.before = ({ message }, response) => {
      const nextCursor = message.params.cursor === "a" ? "b" : "a";
      sendResult(response, message.id, { tools: [], nextCursor, ttlMs: 60_000 });
      return true;
    };
    const { modern } = startMemoryStep(server);
    for (const cursor of [undefined, "a", "b", "a", "b", "a"]) {
      await modern.request("tools/list", cursor ? { cursor } : {});
    }
    // The page that closes the circle is asked for each time.
    expect(server.takeLog()).toHaveLength(4);
  });

  test("any longer when the server no longer allows it", async () => {
    let now = 0;
    const server = await startModernServer({ ttlMs: 10 });
    const step = startMemoryStep(server, undefined, { now: () => now });
    await step.modern.list();
    expect(step.slot.snapshot).toMatchObject({ kept: [{}] });
    now = 10;
    server.state.ttlMs = 0;
    await step.modern.list();
    expect(step.slot.snapshot).toBeUndefined();
  });
});

test("a clock that went back makes nothing live for ever", async () => {
  let now = 10_000;
  const server = await startModernServer();
  const first = startMemoryStep(server, undefined, { now: () => now });
  await probeListAndCall(first);
  now = 9_999;
  server.takeLog();
  await probeListAndCall(startMemoryStep(server, first.save(), { now: () => now }));
  expect(server.takeLog()).toEqual(modernStep);
});

test("pins on the application's word, and leaves the server's ttlMs in the answer", async () => {
  const server = await startModernServer({ ttlMs: 0 });
  let now = 0;
  const options = {
    memory: createServerMemory({ pinMs: 1_000, session: "stateless" }),
    now: () => now,
  };
  const first = startMemoryStep(server, undefined, options);
  await probeListAndCall(first);
  server.takeLog();
  now = 999;
  const { discovered } = await probeListAndCall(startMemoryStep(server, first.save(), options));
  expect(discovered.result.ttlMs).toBe(0);
  expect(server.takeLog()).toEqual(["tools/call"]);
  now = 1_000;
  await probeListAndCall(startMemoryStep(server, first.save(), options));
  expect(server.takeLog()).toEqual(modernStep);
});

test("says how a list differs from the one before, when all of its pages are there", async () => {
  let now = 0;
  const server = await startModernServer({ pages: [tool, named("b")], ttlMs: 10 });
  const clock = { now: () => now };
  const first = startMemoryStep(server, undefined, clock);
  await first.modern.list();
  now = 20;
  server.state.pages = [named("b"), named("sql", "c")];
  const second = startMemoryStep(server, first.save(), clock);
  await second.modern.list();
  expect(second.events).toEqual([
    { type: "tools-changed", reason: "new-list", added: ["c"], removed: [], changed: [] },
  ]);
});

describe("a list is evicted", () => {
  const change = "notifications/tools/list_changed";
  test("by list_changed, on whatever stream it passes", async () => {
    const server = await startModernServer({ pages: [tool] });
    const step = startMemoryStep(server);
    await probeListAndCall(step);
    server.takeLog();
    server.state.before = ({ message }, response) => {
      if (message.method !== "subscriptions/listen") return false;
      startEvents(response);
      response.end(eventText({ jsonrpc: "2.0", method: change }));
      return true;
    };
    await step.modern.request("subscriptions/listen");
    expect(step.events).toEqual([{ type: "tools-changed", reason: "list-changed" }]);
    const next = startMemoryStep(server, step.save());
    await probeListAndCall(next);
    expect(server.takeLog()).toEqual(["subscriptions/listen", "tools/list", "tools/call"]);
  });

  test("while it is under way: what was asked for before may be the old one", async () => {
    const server = await startModernServer({ pages: [tool] });
    const { modern, slot } = startMemoryStep(server);
    const listing = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    server.state.before = ({ message }, response) => {
      if (message.method === "tools/list") {
        listing.resolve();
        const result = { tools: tool, ttlMs: 60_000 };
        void told.promise.then(() => sendResult(response, message.id, result));
      } else {
        startEvents(response);
        response.end(eventText({ jsonrpc: "2.0", method: change }));
      }
      return true;
    };
    const listed = modern.request("tools/list");
    await listing.promise;
    await modern.request("subscriptions/listen");
    told.resolve();
    expect(await listed).toMatchObject({ result: { tools: tool } });
    expect(slot.snapshot).toBeUndefined();
  });

  test("by the report of an unknown tool", async () => {
    const server = await startModernServer({ pages: [tool] });
    const first = startMemoryStep(server);
    await probeListAndCall(first);
    server.takeLog();
    const second = startMemoryStep(server, first.save());
    await second.modern.list();
    await second.modern.call("gone");
    await second.modern.list();
    expect(server.takeLog()).toEqual(["tools/call", "tools/list"]);
    expect(second.events).toEqual([{ type: "tools-changed", reason: "unknown-tool" }]);
  });

  test("by a cursor that the server refuses", async () => {
    const server = await startModernServer({ pages: [tool, tool] });
    const first = startMemoryStep(server);
    await first.modern.request("tools/list");
    server.state.before = ({ message }, response) => {
      if (message.params.cursor === undefined) return false;
      const error = { code: -32_602, message: "unknown cursor" };
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      return true;
    };
    const second = startMemoryStep(server, first.save());
    await second.modern.request("tools/list");
    await second.modern.request("tools/list", { cursor: "1" });
    server.takeLog();
    await second.modern.request("tools/list");
    expect(server.takeLog()).toEqual(["tools/list"]);
  });
});

test("a snapshot of another URL is not used", async () => {
  const server = await startModernServer();
  const first = startMemoryStep(server);
  await probeListAndCall(first);
  const url = `${server.url}/other`;
  const second = startMemoryStep({ url }, first.save());
  expect([second.slot.snapshot, second.events]).toEqual([
    undefined,
    [{ type: "discarded", reason: "url" }],
  ]);
});

test("several clients and first requests at once share one memory", async () => {
  const server = await startModernServer({ pages: [tool, named("other")] });
  const step = startMemoryStep(server);
  const all = await Promise.all(Array.from({ length: 5 }, () => probeListAndCall(step)));
  expect(all.map(({ names }) => names)).toEqual(all.map(() => ["sql", "other"]));
  server.takeLog();
  await probeListAndCall(startMemoryStep(server, step.save()));
  expect(server.takeLog()).toEqual(["tools/call"]);
});

test("a client that leaves disturbs nobody, and leaves nothing half kept", async () => {
  const server = await startModernServer();
  const step = startMemoryStep(server);
  const leaving = new AbortController();
  server.state.before = (_, response) => {
    startEvents(response);
    response.write('data: {"jsonrpc":"2.0","id":0,"res');
    setTimeout(() => leaving.abort(), 0);
    return true;
  };
  await expect(step.modern.request("tools/list", {}, { signal: leaving.signal })).rejects.toThrow(
    "aborted",
  );
  delete server.state.before;
  expect(step.slot.snapshot).toBeUndefined();
  expect(await step.modern.list()).toEqual(["sql"]);
});
