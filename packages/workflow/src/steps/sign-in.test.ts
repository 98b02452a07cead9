import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startLockedNotebook, startLockedShop } from "../../../ai-sdk/test/sign-in-application.ts";
import type { WaitingStep } from "../step-protocol.ts";
import { createConnectionSteps } from "./create-connection-steps.ts";
import { callInStep } from "./call-step.ts";
import { createSaidThroughHook } from "./person-said.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";
import { goOnInStep } from "./waiting-step.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const of = { connection: "work", principal, sessionId: "run" };
const keys = { current: new Uint8Array(32) };
const parts = { emit: () => undefined, emitRefused: () => undefined, now: Date.now };
const flags = { mayRunTwice: false, tellLoss: false };
const store = () =>
  createStoredSessions({ ...parts, store: createMemoryStore(), agent: undefined });
const log = () => createSealedSessions({ ...parts, keys, expiresInMs: 60_000 });

/** The steps of one call of a server whose tools nobody lists before the sign-in, without the engine. */
async function startLook(sessions: ReturnType<typeof store>, options: object = {}) {
  const app = await startLockedShop(options);
  const step = { ...of, definition: app.connection(), slot: undefined };
  const request = { ...of, ...flags, tool: "look", input: { item: "tea" }, toolCallId: "call" };
  const said = createSaidThroughHook(keys, 60_000, Date.now);
  return {
    app,
    begin: async () => await callInStep(sessions, step, request),
    goOn: async ({ id, round, record }: WaitingStep) =>
      await goOnInStep(
        sessions,
        step,
        { ...request, waiting: { kind: "told", id, round, ...(record && { record }) } },
        { said, now: Date.now },
      ),
  };
}

const done = { ok: true, output: { type: "content", value: [{ text: "look tea is done." }] } };

test.each([
  ["a store", store],
  ["the log", log],
])("with %s, a call whose tool cannot be listed waits, for a scope as well", async (_, open) => {
  const { app, begin, goOn } = await startLook(open());
  const begun = await begin();
  expect(begun).toMatchObject({ ok: true, waiting: { round: 0, toolCallId: "call" } });
  const { call } = begun.waiting!;
  expect(await goOn(begun.waiting!)).toMatchObject({ ok: true, waiting: { round: 0, call } });
  expect(app.take().sent).toEqual([]);
  await app.signIn();
  const refused = await goOn(begun.waiting!);
  expect(refused).toMatchObject({ ok: true, waiting: { round: 0 } });
  await app.signIn();
  expect(await goOn(refused.waiting!)).toMatchObject(done);
  expect(app.calls()).toHaveLength(2);
});

test("two steps that go on at once send the call once", async () => {
  const { app, begin, goOn } = await startLook(store());
  await app.signIn();
  const { waiting } = await begin();
  await app.signIn();
  app.take();
  await Promise.all([goOn(waiting!), goOn(waiting!)]);
  expect(await goOn(waiting!)).toMatchObject(done);
  expect(app.calls()).toHaveLength(1);
});

test("a call that a person would have to approve does not wait, and is not sent", async () => {
  const { app, begin } = await startLook(log(), { approval: () => true });
  const refused = await begin();
  expect(JSON.stringify(refused)).toContain("has to approve this call");
  expect(refused.waiting).toBeUndefined();
  expect(app.calls()).toEqual([]);
});

test("a run that begins without a sign-in has a stand-in, unless the step needs all tools", async () => {
  const app = await startLockedNotebook();
  const types: string[] = [];
  const open = async (onUnavailable: "omit" | "throw", required = false) =>
    await createConnectionSteps({
      ...{ connections: { work: app.connection({ required }) }, keys },
      onEvent: { every: ({ type }) => void types.push(type) },
    }).sessions({ kind: "open", connections: ["work"], principal, slots: {}, onUnavailable });
  const { work } = await open("omit");
  expect(work!.tools).toMatchObject([
    { name: "work__sign_in", isStandIn: true, mayRunTwice: true },
  ]);
  expect(types.filter((type) => type === "authorization-required")).toHaveLength(1);
  const refused = { code: "AUTHORIZATION_REQUIRED" };
  await expect(open("throw")).rejects.toMatchObject(refused);
  await expect(open("omit", true)).rejects.toMatchObject(refused);
});
