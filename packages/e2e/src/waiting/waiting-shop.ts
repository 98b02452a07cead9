import {
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
  type McpClientConnectionOptions,
  type Principal,
} from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import type { InputResponses, WaitingCall } from "@durable-mcp/core/waiting";

export const principal: Principal = { type: "user", issuer: "https://idp.test", id: "alice" };

/** What a person answers, by the round of `place_order`. */
const answers: readonly InputResponses[] = [
  { confirm: { action: "accept", content: { ok: true } } },
  { delivery: { action: "accept", content: { time: "12:00" } } },
];

/** The durable sessions of an application with one shop that asks, as each of its processes makes them. */
export function createShop({
  url,
  store,
  fetch,
  now,
  timeouts,
  closeTimeoutMs,
}: {
  readonly url: string;
  readonly store: SessionStore;
  readonly fetch?: typeof globalThis.fetch;
  readonly now?: () => number;
  readonly timeouts?: McpClientConnectionOptions["timeouts"];
  readonly closeTimeoutMs?: number;
}): DurableSessions {
  return createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({
        ...{ url, description: "A shop.", waiting: true },
        ...(fetch && { fetch }),
        timeouts,
      }),
    },
    store,
    onEvent: () => undefined,
    ...(now && { now }),
    closeTimeoutMs,
  });
}

export async function answer(
  shop: DurableSessions,
  sessionId: string,
  { id, round }: Pick<WaitingCall, "id" | "round">,
): Promise<WaitingCall> {
  return await shop.answer(sessionId, id, answers[round - 1]!, { principal, round });
}
