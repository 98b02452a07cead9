import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionSnapshot } from "../../test/step.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { asInitializeResult, parseSessionSnapshot } from "./session-snapshot.ts";
import { isSessionId } from "./snapshot-shape.ts";

const session = sessionSnapshot("https://mcp.example/mcp", {
  toolList: { tools: [{ name: "echo", inputSchema: {} }], listedAt: 1 },
});
const sessionless = { version: 1, kind: "sessionless", url: "https://mcp.example/mcp" };
const kept = {
  ...{ method: "tools/list", client: "[]", result: {} },
  ...{ receivedAt: 1, until: 2, scope: "private" },
};
const remembered = { ...sessionless, kept: [kept] };
const lost = { ...sessionless, lost: {} };
const stateless = { version: 1, kind: "stateless", url: "https://mcp.example/mcp", decidedAt: 1 };

function errorOf(value: unknown): unknown {
  try {
    parseSessionSnapshot(value);
  } catch (error) {
    return error;
  }
  return undefined;
}

const stateInvalid = expect.objectContaining({ code: "STATE_INVALID" });

describe("snapshots of released formats", () => {
  const directory = new URL("../../test/fixtures/", import.meta.url);
  const names = readdirSync(directory).filter((name) => name.endsWith(".json"));

  test.each(names)("%s still loads, whole", (name) => {
    const value: unknown = JSON.parse(readFileSync(new URL(name, directory), "utf8"));
    expect(parseSessionSnapshot(value)).toEqual(value);
  });

  test("cover all kinds", () => {
    expect(names).toEqual([
      "lost.json",
      "session-that-replaces-a-lost-one.json",
      "session.json",
      "sessionless-with-handshake.json",
      "sessionless.json",
      "stateless-with-kept-results.json",
      "stateless.json",
    ]);
  });
});

test("gives a copy that shares nothing with its input", () => {
  const parsed = parseSessionSnapshot(session);
  expect(parsed).toEqual(session);
  expect(parsed).not.toBe(session);
  expect(parsed.kind === "session" && parsed.initializeResult).not.toBe(session.initializeResult);
});

const deep = (levels: number): unknown =>
  JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

test.each([session, lost, sessionless, stateless, remembered])(
  "keeps the fields that a later release has added to $kind",
  (snapshot) => {
    const later = { ...snapshot, hint: { of: "a later release" } };
    expect(parseSessionSnapshot(later)).toEqual(later);
  },
);

describe("refuses", () => {
  const cyclic: Record<string, unknown> = { ...session };
  cyclic["clientCapabilities"] = { self: cyclic };
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a function", () => session],
    ["an unknown key __proto__", JSON.parse('{"__proto__":1,' + JSON.stringify(session).slice(1))],
    ["unknown keys that are too long", { ...session, extra: "x".repeat(1_000_000) }],
    ["a date that is NaN", { ...stateless, decidedAt: Number.NaN }],
    ["a date that is infinite", { ...stateless, decidedAt: Number.POSITIVE_INFINITY }],
    ["inherited keys", Object.create(session)],
    [
      "inherited keys of a class",
      new (class {
        get kind() {
          return "sessionless";
        }
      })(),
    ],
    ["a cycle", cyclic],
    ["a bigint", { ...stateless, decidedAt: 1n }],
    [
      "a getter that throws",
      {
        ...stateless,
        get url() {
          throw new Error("trap");
        },
      },
    ],
    [
      "a toJSON that throws",
      {
        toJSON() {
          throw new Error("trap");
        },
      },
    ],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error("trap");
          },
        },
      ),
    ],
    ["a __proto__ key", JSON.parse(JSON.stringify(session).replace("{", '{"__proto__":{},'))],
    [
      "a nested __proto__ key",
      JSON.parse(
        '{"version":1,"kind":"session","url":"u","sessionId":"a","clientCapabilities":{"a":[{"__proto__":{"polluted":true}}]},"initializeResult":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"n","version":"1"}}}',
      ),
    ],
    ["more than 64 levels", { ...session, clientCapabilities: deep(64) }],
    ["a hundred thousand levels", { ...session, clientCapabilities: deep(100_000) }],
    [
      "more than a million characters",
      { ...session, clientCapabilities: { a: "a".repeat(1_000_000) } },
    ],
  ])("%s", (_, value) => {
    expect(errorOf(value)).toEqual(stateInvalid);
  });
});

test("takes what lies just within its limits", () => {
  const capabilities = JSON.parse(`${'{"a":'.repeat(62)}1${"}".repeat(62)}`) as Record<
    string,
    unknown
  >;
  expect(parseSessionSnapshot({ ...session, clientCapabilities: capabilities })).toBeDefined();
  expect(parseSessionSnapshot({ ...session, sessionId: "~!".repeat(512) })).toBeDefined();
  const room = 1_000_000 - JSON.stringify({ ...session, clientCapabilities: { a: "" } }).length;
  const full = { ...session, clientCapabilities: { a: "a".repeat(room) } };
  expect(parseSessionSnapshot(full)).toEqual(full);
});

test("names the field that is wrong, and never a value", () => {
  const error = errorOf({ ...session, sessionId: "secret id" }) as McpSessionError;
  expect(error.data).toEqual({ field: "sessionId" });
  expect(error.message).toContain("sessionId");
  expect(JSON.stringify([error.message, error.data, String(error.cause)])).not.toContain("secret");
  expect(errorOf({ ...session, toolList: { tools: [{}], listedAt: 1 } })).toMatchObject({
    data: { field: "toolList.tools.0.name" },
  });
});

function defineKey(object: object, [key, value]: [string, unknown]): object {
  return Object.defineProperty(object, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

describe("for any input", () => {
  const hostileKey = fc.constantFrom(
    ...["__proto__", "constructor", "prototype", "toJSON", "kind", "url", "sessionId"],
    ...["version", "decidedAt", "toolList", "initializeResult", "clientCapabilities"],
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("session", "stateless", "sessionless", 1, "2025-11-25", null, Number.NaN),
      fc.string({ maxLength: 8 }),
      fc.array(tie("json"), { maxLength: 3 }),
      fc
        .array(fc.tuple(hostileKey, tie("json")), { maxLength: 6 })
        // As JSON.parse makes it: `__proto__` becomes an own key.
        .map((entries) => entries.reduce(defineKey, {})),
    ),
  }));
  const mutatedSnapshot = fc
    .tuple(fc.constantFrom<object>(session, stateless), hostileKey, json)
    .map(([base, key, value]) => defineKey({ ...base }, [key, value]));

  test("either gives the same JSON or throws STATE_INVALID, and pollutes no prototype", () => {
    const before = Reflect.ownKeys(Object.prototype);
    fc.assert(
      fc.property(fc.oneof(json, mutatedSnapshot, fc.anything()), (value) => {
        const error = errorOf(value);
        // Either STATE_INVALID, or the very same JSON on a plain object.
        const isRefused = McpSessionError.isInstance(error) && error.code === "STATE_INVALID";
        const parsed = error === undefined ? parseSessionSnapshot(value) : undefined;
        const expected = isRefused ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
        expect(error === undefined || isRefused).toBe(true);
        expect(parsed).toEqual(expected);
        expect(Object.getPrototypeOf(parsed ?? {})).toBe(Object.prototype);
        expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("asInitializeResult", () => {
  test("keeps fields it does not know", () => {
    const result = { ...session.initializeResult, _meta: { a: 1 } };
    expect(asInitializeResult(result)).toEqual(result);
  });

  test.each([undefined, null, {}, { ...session.initializeResult, protocolVersion: "2026-07-28" }])(
    "refuses %j",
    (value) => {
      expect(asInitializeResult(value)).toBeUndefined();
    },
  );
});

test("takes visible ASCII of 1 to 1024 characters for a session id", () => {
  expect(["a", "!~", "a".repeat(1024)].map(isSessionId)).toEqual([true, true, true]);
  expect(["", " ", "a b", "\x7F", "é", "a".repeat(1025)].some(isSessionId)).toBe(false);
});
