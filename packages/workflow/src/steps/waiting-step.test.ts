import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { confirm, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import type { CallResult, WaitingStep } from "../step-protocol.ts";
import { callInStep } from "./call-step.ts";
import { createSaidThroughHook, type PersonSaid } from "./person-said.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";
import { goOnInStep } from "./waiting-step.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const key = new Uint8Array(32);

/** The steps of one call that orders tea, without the engine. */
async function startOrder({
  store,
  question,
}: { store?: SessionStore; question?: () => object } = {}) {
  const shop = await startAskingServer({ ...(question && { question }) });
  const pausing = { url: shop.url, description: "A shop.", waiting: true } as const;
  const refused: string[] = [];
  const parts = { emit: () => undefined, now: Date.now };
  const sessionsWith = (current: Uint8Array) =>
    store
      ? createStoredSessions({ ...parts, store, agent: undefined })
      : createSealedSessions({
          ...{ ...parts, keys: { current }, expiresInMs: 60_000 },
          emitRefused: (_, reason) => void refused.push(reason),
        });
  const input = { item: "tea" };
  const call = { connection: "shop", tool: "order", input, principal, sessionId: "chat" };
  const request = { ...call, toolCallId: "call", mayRunTwice: false, tellLoss: false };
  const said = createSaidThroughHook(store ? undefined : { current: key }, 60_000, Date.now);
  const stepOf = (options: object) => ({
    ...{ connection: "shop", principal, sessionId: "chat", slot: undefined },
    definition: defineMcpClientConnection(options as typeof pausing),
  });
  const begun = await callInStep(sessionsWith(key), stepOf(pausing), request);
  return {
    ...{ shop, refused, begun },
    goOn: async (
      { id, round, record }: WaitingStep,
      own: { definition?: object; current?: Uint8Array } = {},
    ): Promise<CallResult> => {
      const what: PersonSaid = { kind: "answer", responses: yes };
      const payload = await said.print(what, { principal, sessionId: "chat" }, { id, round });
      const waiting = { kind: "told", id, round, payload, ...(record && { record }) } as const;
      const step = stepOf(own.definition ?? pausing);
      const sessions = sessionsWith(own.current ?? key);
      return await goOnInStep(sessions, step, { ...request, waiting }, { said, now: Date.now });
    },
    pausing,
  };
}

const done = { type: "content", value: [{ type: "text", text: "order tea is done." }] };

test("an answer that was sent elsewhere is delivered by the next step, and not sent again", async () => {
  const store = createMemoryStore();
  const { shop, begun, goOn, pausing } = await startOrder({ store });
  const { waiting } = begun;
  const connections = { shop: defineMcpClientConnection(pausing) };
  const sessions = createDurableSessions({ connections, store });
  await sessions.answer("chat", waiting!.id, yes, { principal });
  expect(await goOn(waiting!)).toEqual({ ok: true, output: done });
  // As a step does that was interrupted before the engine had its result.
  expect(await goOn(waiting!)).toEqual({ ok: true, output: done });
  expect(shop.legs).toHaveLength(2);
});

test("a record whose key is gone ends the call, and nothing is sent", async () => {
  const { shop, refused, begun, goOn } = await startOrder();
  const result = await goOn(begun.waiting!, { current: key.with(0, 1) });
  expect(result).toMatchObject({ ok: false, code: "NOT_WAITING", isLost: false });
  expect(refused).toEqual(["unknown-key"]);
  expect(shop.legs).toHaveLength(1);
  expect(await goOn(begun.waiting!)).toEqual({ ok: true, output: done });
});

test("a connection that does not pause any more begins no call anew", async () => {
  const { shop, begun, goOn, pausing } = await startOrder();
  const { waiting: _, ...definition } = pausing;
  expect(await goOn(begun.waiting!, { definition })).toMatchObject({
    ok: false,
    code: "CONNECTION_INVALID",
  });
  expect(shop.legs).toHaveLength(1);
});

test("a server whose questions have any key cannot break the event log", async () => {
  const { requestedSchema } = confirm.params;
  const params = { message: "?", requestedSchema, ...JSON.parse('{ "__proto__": { "a": 1 } }') };
  const { begun } = await startOrder({ question: () => ({ ...confirm, params }) });
  const { call, ...plain } = begun.waiting!;
  expect(JSON.parse(call)).toMatchObject({ round: 1, requests: { confirm: { params } } });
  expect(call).toContain("__proto__");
  expect(Object.values(plain).every((value) => typeof value !== "object")).toBe(true);
});
