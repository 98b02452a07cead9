import { setTimeout } from "node:timers/promises";
import {
  createMemoryStore,
  createSessionFetch,
  createSessionSlot,
  type SessionStore,
} from "@durable-mcp/core";
import {
  createWaitingCalls,
  type WaitingCalls,
  type WaitingEvent,
  type WaitingLimits,
} from "@durable-mcp/core/waiting";

interface ProcessOptions extends WaitingLimits {
  readonly store?: SessionStore;
  readonly fetch?: typeof globalThis.fetch;
  readonly now?: () => number;
}

/** Of a process: its waiting calls, and the fetch for its client. */
export function openProcess(
  url: string,
  { fetch = globalThis.fetch, store = createMemoryStore(), ...limits }: ProcessOptions = {},
) {
  const events: WaitingEvent[] = [];
  const waiting = createWaitingCalls({
    ...{ store, url, afterMs: 200, onEvent: (event) => void events.push(event), ...limits },
    ...{ sessionId: "chat", principal: { type: "app" }, connection: "lab" },
  });
  const own = createSessionFetch({ url, fetch, slot: createSessionSlot(), waiting });
  return { waiting, fetch: own, events };
}

/** Until the only call may be looked at. @returns its id */
export async function untilDue(waiting: WaitingCalls): Promise<string> {
  const [call] = await waiting.list();
  await setTimeout(Math.max(0, (call?.pollAfter ?? 0) - Date.now() + 20));
  return call!.id;
}
