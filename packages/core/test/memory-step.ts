import { createSessionFetch } from "../src/create-session-fetch.ts";
import { createServerMemory } from "../src/memory/server-memory.ts";
import type { SessionEvent } from "../src/session/session-event.ts";
import type { SessionFetchOptions } from "../src/session/session-fetch-options.ts";
import { createSessionSlot } from "../src/session/session-slot.ts";
import { parseSessionSnapshot } from "../src/session/session-snapshot.ts";
import { createModernClient } from "./memory-server.ts";
import { createRpcClient } from "./rpc-client.ts";

/** A step with memory and no session, as in a process of its own: it knows the saved snapshot, and nothing else. */
export function startMemoryStep(
  { url }: { url: string },
  saved?: unknown,
  options: Partial<SessionFetchOptions> = {},
) {
  const slot = createSessionSlot(saved === undefined ? undefined : parseSessionSnapshot(saved));
  const events: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void events.push(event);
  const fetch = createSessionFetch({
    ...{ url, slot, onEvent, memory: createServerMemory({ session: "stateless" }) },
    ...options,
  });
  const client = createRpcClient(fetch, url, { "mcp-protocol-version": "2025-11-25" });
  const save = () => slot.snapshot && (JSON.parse(JSON.stringify(slot.snapshot)) as unknown);
  return { slot, events, fetch, client, save, modern: createModernClient(fetch, url) };
}

/** What a client of 2026-07-28 sends in a step. */
export async function probeListAndCall({
  modern,
}: Pick<ReturnType<typeof startMemoryStep>, "modern">) {
  const discovered = await modern.request("server/discover");
  const names = await modern.list();
  return { discovered, names, called: await modern.call() };
}

/** What a client of the session era sends in a step. */
export async function shakeHandsListAndCall({
  client,
}: Pick<ReturnType<typeof startMemoryStep>, "client">) {
  const initialized = await client.handshake();
  const listed = await client.request("tools/list");
  return { initialized, listed, called: await client.request("tools/call", { name: "sql" }) };
}

export const modernStep = ["server/discover", "tools/list", "tools/call"];
export const sessionStep = [
  ...["initialize", "notifications/initialized", "tools/list", "tools/call"],
];
