import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { createNotesServer } from "../../test/notes-server.ts";
import { createSessionHandler } from "../index.ts";

const valid = {
  principal: "none",
  createServer: ({ session }: any) => createNotesServer(session),
};
const times = [0, -1, 0.5, Number.NaN, Infinity, "9", null];

const wrong: Record<string, unknown[]> = {
  createServer: [undefined, null, {}],
  principal: [undefined, null, "any"],
  store: [null, {}, "sessions.db", { ...createMemoryStore(), list: undefined }],
  name: ["", 5, null],
  responseFormat: ["xml", 5, null],
  unknownSession: ["accept", 5],
  adoptedCapabilities: [5, null, []],
  allowedHosts: ["localhost", [5], null],
  allowedOrigins: ["localhost", [5], null],
  authInfo: [5],
  initialState: [{}],
  onStateConflict: ["merge"],
  stateless: [{}, () => new Response()],
  stateScope: ["principal", "app", 5, null, {}, { handle: "" }, { handle: "a", other: 1 }],
  keys: [5, null, "a key"],
  "keys.current": [undefined, "short", new Uint8Array(31)],
  "keys.previous": ["short"],
  onEvent: [5, null],
  now: [5],
  onError: [() => undefined],
  timeouts: [5, null],
  "timeouts.idleMs": times,
  "timeouts.questionMs": times,
  "timeouts.leaseMs": [...times, 2 ** 31],
  "timeouts.idleTimeoutMs": [5],
  limits: [5],
  "limits.bodyBytes": [-1, 0.5, Number.NaN, "9"],
  // More than a store would take.
  "limits.stateBytes": [800_001],
  "events.maxLength": [950_001],
  "limits.bodyByte": [5],
  events: [5],
  "events.maxEvents": [-1, 0.5, 501],
  "events.max": [5],
};

const cases = Object.entries(wrong).flatMap(([field, values]) =>
  values.map((value) => [field, value] as const),
);

/** The valid options with one changed, under its path. */
function change(field: string, value: unknown) {
  const [group = "", setting] = field.split(".");
  return { ...valid, [group]: setting === undefined ? value : { [setting]: value } };
}

describe("createSessionHandler", () => {
  test.each(cases)("refuses %s: %s, and names it", (field, value) => {
    expect(() => createSessionHandler(change(field, value) as never)).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
    );
  });

  test("takes a session of 60 days, which is longer than a timer", () => {
    const absoluteMs = 60 * 24 * 3_600_000;
    expect(() =>
      createSessionHandler(change("timeouts.absoluteMs", absoluteMs) as never),
    ).not.toThrow();
  });

  test("has a drain of a limited time", async () => {
    const handler = createSessionHandler(valid as never);
    await expect(handler.drain({ timeoutMs: Infinity })).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      data: { field: "timeoutMs" },
    });
  });
});
