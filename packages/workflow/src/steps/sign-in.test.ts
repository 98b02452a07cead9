import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { startLockedShop } from "../../../ai-sdk/test/sign-in-application.ts";
import { callInStep } from "./call-step.ts";
import { createConnectionSteps } from "./create-connection-steps.ts";
import { findConnection } from "./declared-connections.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const of = { connection: "work", principal, sessionId: "run" };
const keys = { current: new Uint8Array(32) };
const parts = { emit: () => undefined, emitRefused: () => undefined, now: Date.now };

test.each([
  ["a store", createStoredSessions({ ...parts, store: createMemoryStore(), agent: undefined })],
  ["the log", createSealedSessions({ ...parts, keys, expiresInMs: 60_000 })],
])(
  "with %s, a call that meets a missing sign-in says where it is, and no run sleeps",
  async (_, sessions) => {
    const app = await startLockedShop();
    const definition = findConnection({ work: app.connection() }, "work", principal);
    const request = { ...of, tool: "look", input: { item: "tea" }, toolCallId: "call" };
    const call = async () =>
      await callInStep(
        sessions,
        { ...of, definition, slot: undefined },
        { ...request, mayRunTwice: false, tellLoss: false },
      );
    await app.signIn();
    expect(await call()).toMatchObject({
      ...{ ok: false, code: "AUTHORIZATION_REQUIRED" },
      message: expect.stringContaining("https://app.test/oauth/start"),
    });
    // With the scope that the server has asked for.
    await app.signIn();
    expect(await call()).toMatchObject({ ok: true, output: { type: "content" } });
  },
);

test("a run that begins without a sign-in has no stand-in for the tools", async () => {
  const app = await startLockedShop();
  const steps = createConnectionSteps({
    ...{ connections: { work: app.connection() }, keys },
    onEvent: { every: ({ type }) => void types.push(type) },
  });
  const types: string[] = [];
  const request = { connections: ["work"], principal, sessionId: "run", slots: {} };
  expect(await steps.sessions({ ...request, kind: "open", onUnavailable: "omit" })).toEqual({});
  expect(types).toContain("authorization-required");
});
