import {
  createSessionFetch,
  createSessionSlot,
  parseSessionSnapshot,
  type SessionFetchOptions,
} from "@durable-mcp/core";
import { createServerMemory } from "@durable-mcp/core/memory";
import { describe, expect, test } from "vitest";
import { type ClientName, clientNames, loadClient } from "../clients/index.ts";
import { type CountedServer, serversInProcess } from "./servers-in-process.ts";

const pinned = createServerMemory({ pinMs: 60_000, session: "stateless" });
const args = { text: "hello", region: "eu" };

/** A fetch that remembers, and keeps no session. */
const createMemoryFetch = (options: SessionFetchOptions) =>
  createSessionFetch({ memory: createServerMemory({ session: "stateless" }), ...options });

/** A step with a new client, as another process makes it: lists, calls, and gives the snapshot as JSON. */
async function takeStep(
  server: CountedServer,
  client: ClientName,
  createFetch: typeof createMemoryFetch,
  json?: string,
  options: { memory?: ReturnType<typeof createServerMemory> } = {},
): Promise<string | undefined> {
  const slot = createSessionSlot(
    json === undefined ? undefined : parseSessionSnapshot(JSON.parse(json)),
  );
  const { url, fetch } = server;
  const connect = await loadClient(client);
  const own = await connect({ url, fetch: createFetch({ url, slot, fetch, ...options }) });
  expect(await own.listTools()).toEqual(["echo"]);
  expect(await own.callTool("echo", args)).toMatchObject({ text: "hello", isError: false });
  await own.close();
  return slot.snapshot && JSON.stringify(slot.snapshot);
}

const pairs = Object.entries(serversInProcess).flatMap(([name, kind]) =>
  clientNames.filter(kind.serves).map((client) => ({ name, client, ...kind })),
);

describe.each(pairs)("$client on $name", ({ client, start, allows, requestsOf }) => {
  test("sends its call alone in a later step, if the server allows it (M20)", async () => {
    const server = start();
    const saved = await takeStep(server, client, createMemoryFetch);
    const first = server.takeLog();
    await takeStep(server, client, createMemoryFetch, saved);
    const all = requestsOf(client);
    expect(first.filter((method) => method !== "GET")).toEqual(all);
    const second = server.takeLog();
    expect(allows(client) ? second : second.filter((method) => method !== "GET")).toEqual(
      allows(client) ? ["tools/call"] : all,
    );
  });

  test("sends its call alone on the application's word", async () => {
    const server = start();
    const options = { memory: pinned };
    const saved = await takeStep(server, client, createMemoryFetch, undefined, options);
    server.takeLog();
    await takeStep(server, client, createMemoryFetch, saved, options);
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("sends its call alone beneath a session fetch", async () => {
    const server = start();
    const options = { memory: pinned };
    const saved = await takeStep(server, client, createSessionFetch, undefined, options);
    server.takeLog();
    await takeStep(server, client, createSessionFetch, saved, options);
    expect(server.takeLog()).toEqual(["tools/call"]);
  });
});

/** Its URL stays, and the server behind it becomes another one. */
function startChangingServer(name: string) {
  let current = serversInProcess[name]!.start();
  const server: CountedServer = {
    ...{ url: current.url, takeLog: () => current.takeLog() },
    fetch: async (input, init) => await current.fetch(input, init),
  };
  const become = (other: string, header?: string) => {
    current = serversInProcess[other]!.start(header);
  };
  return { server, become };
}

describe("a server that changed since the step before", () => {
  const client = "@modelcontextprotocol/client 2 (auto)";
  const [modern, old] = ["SDK v2 of 2026-07-28 alone", "SDK v1 without ids"];
  /** A client that knows its tool, and does not list. */
  async function callAlone(server: CountedServer, json: string | undefined) {
    const slot = createSessionSlot(
      json === undefined ? undefined : parseSessionSnapshot(JSON.parse(json)),
    );
    const { url, fetch } = server;
    const connect = await loadClient(client);
    const own = await connect({ url, fetch: createMemoryFetch({ url, slot, fetch }) });
    const outcome = await own.callTool("echo", args);
    await own.close();
    return { ...outcome, saved: JSON.stringify(slot.snapshot) };
  }

  test("gets the headers of its tool from a client that never listed (M2)", async () => {
    const { server } = startChangingServer(modern);
    await callAlone(server, undefined);
    expect(server.takeLog()).toEqual(["server/discover", "tools/call", "tools/list", "tools/call"]);
    const saved = await takeStep(server, client, createMemoryFetch);
    server.takeLog();
    expect(await callAlone(server, saved)).toMatchObject({ text: "hello" });
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("to another header gets the call again with the new one", async () => {
    const { server, become } = startChangingServer(modern);
    const saved = await takeStep(server, client, createMemoryFetch);
    become(modern, "Zone");
    const { text, saved: next } = await callAlone(server, saved);
    expect(text).toBe("hello");
    expect(server.takeLog()).toEqual(["tools/call", "tools/list", "tools/call"]);
    expect(await callAlone(server, next)).toMatchObject({ text: "hello" });
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("to the session era, or back, is met anew in the step after the refusal (M12)", async () => {
    for (const [before, after] of [
      [modern, old],
      [old, modern],
    ] as const) {
      const { server, become } = startChangingServer(before);
      const saved = await takeStep(server, client, createMemoryFetch);
      become(after);
      const slot = createSessionSlot(parseSessionSnapshot(JSON.parse(saved!)));
      const { url, fetch } = server;
      const connect = await loadClient(client);
      const own = await connect({ url, fetch: createMemoryFetch({ url, slot, fetch }) });
      await expect(own.callTool("echo", args)).rejects.toThrow(/version|initiali/i);
      const next = await takeStep(server, client, createMemoryFetch, JSON.stringify(slot.snapshot));
      server.takeLog();
      await takeStep(server, client, createMemoryFetch, next);
      expect(server.takeLog()).toEqual(["tools/call"]);
    }
  });
});
