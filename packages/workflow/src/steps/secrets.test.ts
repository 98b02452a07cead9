/** Each secret of a connection, in each form, in the event log, to which all goes that a step gives. */
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import {
  answers,
  kinds,
  leaksIn,
  optionsOf,
  printed,
  startEchoes,
} from "../../../sessions/test/echoes.ts";
import { callInStep } from "./call-step.ts";
import { createConnectionSteps } from "./create-connection-steps.ts";
import { plainError } from "./plain-error.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";

const of = {
  ...{ connection: "echoes", sessionId: "chat" },
  principal: { type: "user", issuer: "https://idp.test", id: "alice" },
} as const;
const request = { ...of, tool: "echo", input: {}, mayRunTwice: false, tellLoss: true };
const keys = { current: new Uint8Array(32) };

const cases = (["session", "stateless"] as const).flatMap((era) =>
  answers.map(([name, reply]) => [era, name, reply] as const),
);

test.each(cases)(
  "in the era %s no secret that the server repeats in %s is in a step's result or event",
  async (era, name, reply) => {
    const { url, echoed } = await startEchoes(era, reply);
    const seen: unknown[] = [];
    const emit = (event: object) => void seen.push(event);
    const options = { ...optionsOf(url, era), onProgress: (progress: object) => emit(progress) };
    const definition = defineMcpClientConnection(options);
    const every = { ...{ connections: { echoes: definition }, keys }, onEvent: { every: emit } };
    const opening = { kind: "open", connections: ["echoes"], slots: {} } as const;
    const opened = await createConnectionSteps(every).sessions({
      ...{ ...of, ...opening },
      onUnavailable: "omit",
    });
    const parts = { emit, emitRefused: () => undefined, now: Date.now };
    for (const sessions of [
      createSealedSessions({ ...parts, keys, expiresInMs: 60_000 }),
      createStoredSessions({ ...parts, store: createMemoryStore(), agent: undefined }),
    ]) {
      const step = { ...of, definition, slot: undefined };
      seen.push(await callInStep(sessions, step, request).catch(plainError));
    }
    expect(leaksIn(echoed.join("\n"))).toEqual(expect.arrayContaining(kinds));
    const text = printed([opened, ...seen]);
    const isHeard = era === "session" || name !== "a notification";
    expect(text.includes("[redacted]")).toBe(isHeard);
    expect(leaksIn(text)).toEqual([]);
  },
);
