import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callForText, startApplication } from "../step.ts";
import { defineMcpClientConnection, type StatefulSessionOptions } from "../../src/index.ts";
import { sealState, type SealStateOptions, unsealState } from "@durable-mcp/core/sealing";

const randomKey = () => crypto.getRandomValues(new Uint8Array(32));
const current = randomKey();
const state = { mcpSessions: { notes: "secret-session" }, other: ["漢", 1, null] };
const options = { keys: { current }, sessionId: "chat-1", principal: alice };

async function seal(value: unknown = state, more: Partial<SealStateOptions> = {}): Promise<string> {
  const { sealed } = await sealState(value, { ...options, ...more });
  if (sealed === undefined) throw new Error("The state is too large.");
  return sealed;
}

describe("a sealed state", () => {
  test("comes back as it was", async () => {
    expect(await unsealState(await seal(), options)).toEqual({ state });
  });

  test("comes back as JSON: without what JSON leaves out", async () => {
    expect(await unsealState(await seal({ a: undefined, b: 1 }), options)).toEqual({
      state: { b: 1 },
    });
    const { sealed } = await sealState(undefined, options);
    expect(await unsealState(sealed, options)).toEqual({ state: undefined });
  });

  test("tells nothing of what is in it, and is text for a cookie", async () => {
    const sealed = await seal();
    expect(sealed).toMatch(/^[\w.-]+$/);
    const parts = sealed.split(".").map((part) => atob(part.replace(/-/g, "+").replace(/_/g, "/")));
    for (const secret of ["secret-session", "chat-1", "alice", "mcpSessions"]) {
      expect([sealed, ...parts].join("\n")).not.toContain(secret);
    }
    expect(await seal()).not.toBe(sealed);
  });

  test("keeps a member named __proto__ and sets no prototype", async () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":true}}');
    const { state: back } = await unsealState(await seal(hostile), options);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(JSON.stringify(back)).toBe(JSON.stringify(hostile));
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["an empty text", ""],
  ])("is not missed when there is %s", async (_, nothing) => {
    expect(await unsealState(nothing, options)).toEqual({ state: undefined });
  });

  test("is not used for another agent session", async () => {
    const sealed = await seal();
    expect(await unsealState(sealed, { ...options, sessionId: "chat-2" })).toEqual({
      state: undefined,
      reason: "other-session",
    });
  });

  test.each([
    ["another user", bob],
    ["the same user id of another issuer", { ...alice, issuer: "https://other.test" }],
    ["the application", { type: "app" as const }],
    ["nobody", { type: "anonymous" as const }],
  ])("is not used for %s", async (_, principal) => {
    expect(await unsealState(await seal(), { ...options, principal })).toEqual({
      state: undefined,
      reason: "other-principal",
    });
  });

  test("is used until it expires, and not from then on", async () => {
    const sealed = await seal(state, { now: () => 1_000, expiresInMs: 500 });
    expect(await unsealState(sealed, { ...options, now: () => 1_499 })).toEqual({ state });
    expect(await unsealState(sealed, { ...options, now: () => 1_500 })).toEqual({
      state: undefined,
      reason: "expired",
    });
  });

  test("expires after 7 days", async () => {
    const day = 24 * 3_600_000;
    const sealed = await seal(state, { now: () => 0 });
    expect(await unsealState(sealed, { ...options, now: () => 7 * day - 1 })).toEqual({ state });
    expect(await unsealState(sealed, { ...options, now: () => 7 * day })).toMatchObject({
      reason: "expired",
    });
  });

  test("is not used when any character of it was changed", async () => {
    const sealed = await seal({ a: 1 });
    const reasons = new Set<string>();
    for (let at = 0; at < sealed.length; at += 1) {
      // The last character of a part may carry unused bits: another letter of the same bits is no change.
      const isLast = at === sealed.length - 1 || sealed[at + 1] === ".";
      if (isLast) continue;
      const other = sealed[at] === "A" ? "B" : "A";
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      const result = await unsealState(changed, options);
      expect(result.state).toBeUndefined();
      reasons.add(String(result.reason));
    }
    expect(reasons).toEqual(new Set(["malformed", "tampered", "unknown-key"]));
  });

  test.each<[string, unknown]>([
    ["a number", 1],
    ["an object", { mcpSessions: {} }],
    ["any text", "x"],
    ["dots", "...."],
    ["a state as it is", JSON.stringify(state)],
    ["a token that is not encrypted", `${btoa('{"alg":"none"}').replace(/=/g, "")}.e30.`],
    ["lone surrogates", "\ud800.\udfff...."],
  ])("is not made of %s", async (_, text) => {
    expect(await unsealState(text, options)).toEqual({ state: undefined, reason: "malformed" });
  });
});

describe("what comes from outside", () => {
  test("is never state unless it was sealed, and never throws", async () => {
    const sealed = await seal();
    const parts = sealed.split(".");
    const part = fc.oneof(fc.constantFrom(...parts), fc.string(), fc.base64String());
    const text = fc.oneof(
      fc.anything(),
      fc.string({ unit: "binary" }),
      fc.array(part, { minLength: 4, maxLength: 6 }).map((some) => some.join(".")),
      fc
        .record({ kid: fc.anything(), alg: fc.anything(), enc: fc.anything(), zip: fc.anything() })
        .map((header) => [headerText(header), ...parts.slice(1)].join(".")),
      fc
        .tuple(fc.nat(sealed.length - 1), fc.string({ minLength: 1, maxLength: 3 }))
        .map(([at, other]) => sealed.slice(0, at) + other + sealed.slice(at + other.length)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (outside) => {
        const { state: opened } = await unsealState(outside, options);
        expect(opened === undefined || isSameText(outside, sealed)).toBe(true);
      }),
      { numRuns: 200 },
    );
  }, 30_000);
});

function headerText(header: object): string {
  const bytes = new TextEncoder().encode(
    JSON.stringify(header, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value)),
  );
  return btoa(String.fromCharCode(...bytes)).replace(/=/g, "");
}

function decode(part: string): string {
  return atob(part.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Base64 has several spellings of the same bytes: the last letter has bits that do not count. */
function isSameText(outside: unknown, sealed: string): boolean {
  return (
    typeof outside === "string" &&
    outside.split(".").map(decode).join(".") === sealed.split(".").map(decode).join(".")
  );
}

describe("the length of a sealed state", () => {
  test("is limited when it is sealed and when it is unsealed", async () => {
    const sealed = await seal();
    const { length } = sealed;
    expect((await sealState(state, { ...options, maxLength: length })).sealed).toHaveLength(length);
    expect(await sealState(state, { ...options, maxLength: length - 1 })).toEqual({
      sealed: undefined,
      reason: "too-large",
    });
    expect(await unsealState(sealed, { ...options, maxLength: length })).toEqual({ state });
    expect(await unsealState(sealed, { ...options, maxLength: length - 1 })).toEqual({
      state: undefined,
      reason: "too-large",
    });
  });

  test("is 1,000,000 characters at most by default", async () => {
    expect(await sealState("x".repeat(1_000_000), options)).toMatchObject({ reason: "too-large" });
    expect(await unsealState("x".repeat(1_000_001), options)).toMatchObject({
      reason: "too-large",
    });
  });
});

describe("the keys", () => {
  test("may be bytes or base64 text, for the same key", async () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, index) => 255 - index * 3);
    const base64 = btoa(String.fromCharCode(...bytes));
    const url = base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    expect(base64).toMatch(/[+/]/);
    const sealed = await seal(state, { keys: { current: bytes } });
    for (const text of [base64, url]) {
      expect(await unsealState(sealed, { ...options, keys: { current: text } })).toEqual({ state });
    }
  });

  test("rotate: what was sealed with the previous one is still opened, and sealed with the new", async () => {
    const before = await seal();
    const rotated = { current: randomKey(), previous: current };
    expect(await unsealState(before, { ...options, keys: rotated })).toEqual({ state });
    const after = await seal(state, { keys: rotated });
    expect(await unsealState(after, options)).toMatchObject({ reason: "unknown-key" });
    expect(await unsealState(after, { ...options, keys: { current: rotated.current } })).toEqual({
      state,
    });
  });

  test("open nothing that another key sealed", async () => {
    expect(await unsealState(await seal(), { ...options, keys: { current: randomKey() } })).toEqual(
      { state: undefined, reason: "unknown-key" },
    );
  });

  test("are not told by the error that refuses them", async () => {
    const secret = "correct horse battery staple";
    const error = await sealState(state, { ...options, keys: { current: secret } }).catch(String);
    expect(error).toContain("keys.current");
    expect(error).not.toContain(secret);
  });
});

describe("options", () => {
  test.each<[string, object, string, string]>([
    ["no agent session", { sessionId: "" }, "CONNECTION_INVALID", "sessionId"],
    ["no principal", { principal: undefined }, "PRINCIPAL_REQUIRED", "principal"],
    ["no keys", { keys: undefined }, "CONNECTION_INVALID", "keys"],
    [
      "a key without a name",
      { keys: { current: undefined } },
      "CONNECTION_INVALID",
      "keys.current",
    ],
    ["an unknown key", { keys: { ...options.keys, old: "" } }, "CONNECTION_INVALID", "keys.old"],
    ["an unknown option", { ttl: 1 }, "CONNECTION_INVALID", "ttl"],
    ["no clock", { now: 0 }, "CONNECTION_INVALID", "now"],
    ["a length of 0", { maxLength: 0 }, "CONNECTION_INVALID", "maxLength"],
    ["an end in the past", { expiresInMs: 0 }, "CONNECTION_INVALID", "expiresInMs"],
  ])("with %s are refused", async (_, more, code, field) => {
    const wrong = { ...options, ...more };
    await expect(sealState(state, wrong)).rejects.toMatchObject({ code, data: { field } });
    if (field === "expiresInMs") return;
    await expect(unsealState("x", wrong)).rejects.toMatchObject({ code, data: { field } });
    await expect(unsealState(undefined, wrong)).rejects.toMatchObject({ code, data: { field } });
  });

  test("with a clock that gives no time open nothing", async () => {
    const sealed = await seal(state, { now: () => 0, expiresInMs: 1 });
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, undefined, "soon"]) {
      const now = () => time as number;
      const refused = { code: "CONNECTION_INVALID", data: { field: "now" } };
      await expect(unsealState(sealed, { ...options, now })).rejects.toMatchObject(refused);
      await expect(sealState(state, { ...options, now })).rejects.toMatchObject(refused);
    }
  });

  test("do not make JSON of what is none", async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [circle, 1n]) {
      await expect(sealState(value, options)).rejects.toMatchObject({
        code: "STATE_INVALID",
        data: { field: "state" },
      });
    }
  });
});

describe("a sealed state in a cookie", () => {
  test("carries a session from step to step when the tool list stays out of it", async () => {
    const server = await startNotebookServer();
    const notebook = (session: "stateful" | StatefulSessionOptions) =>
      startApplication({
        notes: defineMcpClientConnection({ url: server.url, description: "Notes.", session }),
      });
    const slim = notebook({ mode: "stateful", toolList: { maxLength: 1 } });
    const cookie = { ...options, maxLength: 4_000 };
    let sealed: string | undefined;
    const answers: string[] = [];
    for (const note of ["a", "b"]) {
      const { state: before } = await unsealState(sealed, cookie);
      const { state: after } = await slim.step({ state: before }, async (registry) => {
        const tools = await registry.tools();
        answers.push(await callForText(tools, "notes__add_note", { text: note }));
      });
      ({ sealed } = await sealState(after, cookie));
    }
    expect(answers).toEqual(["1 notes", "2 notes"]);
    expect(server.sessionIds).toHaveLength(1);
    // What the guide on sealing says.
    expect(sealed!.length).toBeLessThan(1_000);

    const whole = await notebook("stateful").step({}, (registry) => registry.tools());
    const { length } = await seal(whole.state);
    expect(length).toBeGreaterThan(1_400);
  });
});
