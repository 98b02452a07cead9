import { describe, expect, test } from "vitest";
import { startMcpServer } from "../../test/mcp-server.ts";
import { sessionSnapshot, startStep } from "../../test/step.ts";
import { createSessionFetch } from "../create-session-fetch.ts";
import { endSession } from "../handshake/end-session.ts";
import { createMemoryStore } from "../stores/memory-store.ts";
import { sessionFetchChecks } from "./session-fetch-options.ts";
import { createSessionSlot } from "./session-slot.ts";

const url = "http://127.0.0.1/mcp";
const snapshot = sessionSnapshot(url);
const invalid = (field: string) =>
  expect.objectContaining({
    code: "CONNECTION_INVALID",
    message: expect.stringMatching(`^${field.replaceAll(".", "\\.")} (must|is not)`),
    data: { field },
  });

const create = (options: object) =>
  createSessionFetch({ url, slot: createSessionSlot(), ...options });

describe("createSessionFetch refuses", () => {
  test.each(Object.keys(sessionFetchChecks))("a %s of a type that no option has", (field) => {
    for (const value of [-1, [], null]) {
      expect(() => create({ [field]: value })).toThrow(invalid(field));
    }
  });

  test.each<[string, object]>([
    ["slot", { slot: {} }],
    ["listen", { listen: true }],
    ["recovery.resend", { recovery: { resend: "safely" } }],
    ["recovery.onLoss", { recovery: { onLoss: "ignore" } }],
    ["recovery.around", { recovery: { around: true } }],
    ["except.matches", { except: { slot: createSessionSlot() } }],
    ["slot", { except: { slot: {}, matches: () => true } }],
    ["except.tools", { except: { slot: createSessionSlot(), matches: () => true, tools: [] } }],
    ["timeouts.initializeMs", { timeouts: { initializeMs: 0 } }],
    ["timeouts.startMs", { timeouts: { startMs: "1s" } }],
    ["timeouts.answerMs", { timeouts: { answerMs: 2_147_483_648 } }],
    ["timeouts.connectMs", { timeouts: { connectMs: 1 } }],
    ["toolList.maxAgeMs", { toolList: { maxAgeMs: -1 } }],
    ["toolList.maxLength", { toolList: { maxLength: 1.5 } }],
    ["toolList.beforeSave", { toolList: { beforeSave: 1 } }],
    ["onSesion", { onSesion: () => undefined }],
  ])("%s: %j", (field, options) => {
    expect(() => create(options)).toThrow(invalid(field));
  });

  test.each([undefined, null, url, []])("options that are %j", (options) => {
    expect(() => createSessionFetch(options as never)).toThrow(invalid("options"));
  });

  test("nothing that is left undefined", () => {
    expect(create({ fetch: undefined, timeouts: { answerMs: undefined } })).toBeTypeOf("function");
  });
});

test("a clock that gives no time fails the request that reads it", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, {
    snapshot: { version: 1, kind: "stateless", url: server.url, decidedAt: 0 },
    now: () => Number.NaN,
  });
  await expect(client.request("tools/list")).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
    data: { field: "now" },
  });
});

test.each([null, "x", {}, { kind: "session", url }, { ...snapshot, sessionId: "a b" }])(
  "createSessionSlot refuses a snapshot that was not parsed: %j",
  (given) => {
    expect(() => createSessionSlot(given as never)).toThrow(invalid("snapshot"));
  },
);

test.each<[string, object]>([
  ["url", { url: undefined }],
  ["snapshot", { snapshot: undefined }],
  ["snapshot", { snapshot: { kind: "session", url, sessionId: "a\nb" } }],
  ["fetch", { fetch: true }],
  ["timeoutMs", { timeoutMs: -1 }],
  ["timeoutMs", { timeoutMs: Number.POSITIVE_INFINITY }],
  ["headers", { headers: { authorization: "Bearer hunter2\n\u2603" } }],
  ["timeout", { timeout: 1 }],
])("endSession refuses %s: %j", async (field, options) => {
  const ending = endSession({ url, snapshot, ...options });
  await expect(ending).rejects.toThrow(invalid(field));
  expect(String(await ending.catch((error: unknown) => error))).not.toContain("hunter2");
});

test.each<[string, object]>([
  ["maxRecords", { maxRecords: 0 }],
  ["now", { now: 1 }],
  ["max", { max: 1 }],
])("createMemoryStore refuses %s", (field, options) => {
  expect(() => createMemoryStore(options)).toThrow(invalid(field));
});
