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

/** The one order of an agent session, as the agent loop makes it. */
export async function order(shop: DurableSessions, sessionId: string): Promise<unknown> {
  return await shop.run(sessionId, { principal }, async (run) => {
    const { execute } = ((await run.tools()) as Record<string, { execute: Execute }>)[
      "shop__place_order"
    ]!;
    return await execute({ item: sessionId }, { toolCallId: "call", messages: [], context: {} });
  });
}

type Execute = (input: object, options: object) => Promise<unknown>;

/** Puts the order's result into a conversation that has its placeholder. */
export async function resume(shop: DurableSessions, sessionId: string, id: string) {
  const call = { toolCallId: "call", toolName: "shop__place_order" };
  const text = { type: "text", text: "-", providerOptions: { "durable-mcp": { waiting: id } } };
  const messages = [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: { item: sessionId } }] },
    {
      role: "tool",
      content: [{ type: "tool-result", ...call, output: { type: "content", value: [text] } }],
    },
  ];
  return await shop.run(sessionId, { principal }, async (run) =>
    run.waiting.resume(messages, { tools: await run.tools() }),
  );
}

export async function answer(
  shop: DurableSessions,
  sessionId: string,
  { id, round }: Pick<WaitingCall, "id" | "round">,
): Promise<WaitingCall> {
  return await shop.answer(sessionId, id, answers[round - 1]!, { principal, round });
}
