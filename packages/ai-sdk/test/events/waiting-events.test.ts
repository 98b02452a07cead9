import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { describe, expect, test, vi } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { type AnswerLeg, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { collectEvents } from "../collect-events.ts";
import { alice, callTool } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";
import type { OnEvent } from "../../../sessions/src/events/application-event.ts";

const use = { principal: alice };
const state = { data: { reason: "invalid_request_state" }, code: -32602, message: "Too late." };

/**
 * An agent session with a call that waits. `reply` is the server's to later legs; `"never"` is none, and the caller
 * does not wait for it.
 */
async function start(
  onEvent: OnEvent | undefined,
  reply: AnswerLeg | "never" = () => undefined,
  options: Partial<McpClientConnectionOptions> = {},
) {
  const controller = new AbortController();
  const leave = () => {
    controller.abort();
    return new Promise<undefined>(() => undefined);
  };
  const later = reply === "never" ? leave : reply;
  const { url } = await startAskingServer({
    answer: (leg) => (leg.params.inputResponses ? later(leg) : undefined),
  });
  const shop = defineMcpClientConnection({ url, description: "A.", waiting: true, ...options });
  const sessions = createDurableSessions({
    connections: { shop },
    ...{ store: createMemoryStore(), onEvent },
  });
  await sessions.run("chat", use, async (run) => callTool(await run.tools(), "shop__order_twice"));
  const [call] = callsOf(await sessions.waiting("chat", use));
  const { id } = call!;
  const abortSignal = controller.signal;
  const answer = () => sessions.answer("chat", id, yes, { ...use, abortSignal });
  return { sessions, id, answer };
}

async function startHeard(
  reply?: Parameters<typeof start>[1],
  options?: Partial<McpClientConnectionOptions>,
) {
  const { onEvent, events } = collectEvents();
  return { ...(await start(onEvent, reply, options)), events };
}

const told = { type: "waiting-call", connection: "shop", tool: "order_twice" };

describe("the event waiting-call", () => {
  test("tells of each round, and of the end, in words without an id", async () => {
    const { events, answer } = await startHeard();
    await answer();
    await answer();
    expect(events).toEqual([
      { ...told, round: 1, state: "waiting" },
      { ...told, round: 2, state: "waiting" },
      { ...told, round: 2, state: "settled" },
    ]);
  });

  test.each([
    ["expired", () => ({ error: state })],
    ["settled", () => ({ error: { code: -32000, message: "Sold out." } })],
    ["outcome-unknown", "never"],
  ] as const)("tells that a call is %s", async (end, given) => {
    const { events, answer } = await startHeard(given);
    expect(await answer()).toMatchObject({ state: end });
    expect(events.at(-1)).toEqual({ ...told, round: 1, state: end });
  });

  test("tells that a call was taken back", async () => {
    const { events, sessions, id } = await startHeard();
    await sessions.withdraw("chat", id, use);
    expect(events.at(-1)).toEqual({ ...told, round: 1, state: "withdrawn" });
  });

  test("tells that the same questions wait again, and asks nobody a second time", async () => {
    const onWaiting = vi.fn<(call: WaitingCall) => void>();
    const waiting = { safeTools: ["order_twice"], onWaiting } as const;
    const { events, answer } = await startHeard("never", { waiting });
    await expect(answer()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(events).toEqual([
      { ...told, round: 1, state: "waiting" },
      { ...told, round: 1, state: "waiting" },
    ]);
    expect(onWaiting).toHaveBeenCalledOnce();
  });
});

test("with nobody listening the console says that an outcome is unknown, and nothing else", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
  const settled = await start(undefined);
  await settled.answer();
  await settled.answer();
  expect(warn).not.toHaveBeenCalled();
  const unknown = await start(undefined, "never");
  await unknown.answer();
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/^Connection shop: a person's answer to the question of order_twice /)],
  ]);
  warn.mockRestore();
});
