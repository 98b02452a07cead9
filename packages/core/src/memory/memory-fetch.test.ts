import { expect, test } from "vitest";
import {
  createModernClient,
  startModernServer,
  startSessionlessServer,
} from "../../test/memory-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import type { SessionEvent } from "../session/session-event.ts";
import { createSessionSlot } from "../session/session-slot.ts";
import { parseSessionSnapshot } from "../session/session-snapshot.ts";
import { createMemoryFetch, type MemoryFetchOptions } from "./memory-fetch.ts";
import { createServerMemory } from "./server-memory.ts";

/** A step in another process: all it knows is the saved snapshot. */
function startStep(
  { url }: { url: string },
  saved?: unknown,
  options: Partial<MemoryFetchOptions> = {},
) {
  const slot = createSessionSlot(saved === undefined ? undefined : parseSessionSnapshot(saved));
  const events: SessionEvent[] = [];
  const fetch = createMemoryFetch({
    url,
    slot,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const client = createRpcClient(fetch, url, { "mcp-protocol-version": "2025-11-25" });
  const save = () => slot.snapshot && (JSON.parse(JSON.stringify(slot.snapshot)) as unknown);
  return { slot, events, fetch, client, save, modern: createModernClient(fetch, url) };
}

/** What a modern client sends in a step. */
async function probeListAndCall({ modern }: ReturnType<typeof startStep>) {
  await modern.request("server/discover");
  const names = await modern.list();
  return { names, call: await modern.call() };
}

test("a cold step on a server of 2026-07-28 sends its call alone, as long as the server allows", async () => {
  const server = await startModernServer({ pages: [[], [{ name: "other", inputSchema: {} }]] });
  server.state.pages[0] = [{ name: "sql", inputSchema: {} }];
  let now = 1_000;
  const clock = { now: () => now };
  const first = startStep(server, undefined, clock);
  expect((await probeListAndCall(first)).names).toEqual(["sql", "other"]);
  expect(server.takeLog()).toEqual(["server/discover", "tools/list", "tools/list", "tools/call"]);

  now += 59_999;
  const second = startStep(server, first.save(), clock);
  expect((await probeListAndCall(second)).names).toEqual(["sql", "other"]);
  expect(server.takeLog()).toEqual(["tools/call"]);
  expect(second.slot.changed).toBe(false);

  now += 1;
  await probeListAndCall(startStep(server, first.save(), clock));
  expect(server.takeLog()).toEqual(["server/discover", "tools/list", "tools/list", "tools/call"]);
});

test("a cold step on a server of the session era without ids sends its call alone", async () => {
  const server = await startSessionlessServer();
  const first = startStep(server);
  await first.client.handshake();
  await first.client.request("tools/list");
  await first.client.request("tools/call", { name: "sql" });
  expect(server.takeLog()).toEqual([
    ...["initialize", "notifications/initialized", "tools/list", "tools/call"],
  ]);
  const second = startStep(server, first.save());
  await second.client.handshake();
  const { result } = await second.client.request("tools/list");
  expect(result.tools).toEqual(server.state.pages.flat());
  await second.client.request("tools/call", { name: "sql" });
  expect(server.takeLog()).toEqual(["tools/call"]);
});

test("pins on the application's word", async () => {
  const server = await startModernServer({ ttlMs: 0 });
  const first = startStep(server);
  await probeListAndCall(first);
  expect(first.slot.snapshot).toBeUndefined();
  const memory = createServerMemory({ pinMs: 1_000 });
  const pinned = startStep(server, undefined, { memory });
  await probeListAndCall(pinned);
  server.takeLog();
  await probeListAndCall(startStep(server, pinned.save(), { memory }));
  expect(server.takeLog()).toEqual(["tools/call"]);
});
