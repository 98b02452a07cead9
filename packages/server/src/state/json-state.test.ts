import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { checkState, freezeState } from "./json-state.ts";

const maxBytes = 1_000_000;

function refusal(state: unknown, limit = maxBytes): McpSessionError {
  try {
    checkState(state, limit);
  } catch (error) {
    return error as McpSessionError;
  }
  throw new Error("It was not refused.");
}

class Point {
  x = 1;
}

const cyclic: Record<string, unknown> = { list: [] };
(cyclic["list"] as unknown[]).push(cyclic);

/** With `length` alone, or with more items than there are. */
function arrayOf(length: number, ...items: unknown[]): unknown[] {
  const array = [...items];
  array.length = length;
  return array;
}

const gap = arrayOf(3, "a");
gap[2] = "c";

const refused: [what: string, state: unknown, path: string, fix: string][] = [
  ["a bigint", { n: 10n }, "state.n is a BigInt", "its text or a number"],
  ["a date", { items: [1, 2, 3, { at: new Date(0) }] }, "state.items[3].at is a Date", "ISO text"],
  ["a map", { a: new Map() }, "state.a is a Map", "an object"],
  ["a set", { a: [new Set()] }, "state.a[0] is a Set", "an array"],
  ["bytes", { a: new Uint8Array(2) }, "state.a has bytes", "Base64"],
  ["a promise", { a: Promise.resolve() }, "state.a is a promise", "await"],
  ["an instance", { a: new Point() }, "state.a is an object of a class", "plain object"],
  ["an array of a class", { a: new (class A extends Array {})() }, "state.a is an object", "plain"],
  ["an object that inherits", { a: Object.create({ b: 1 }) }, "state.a is an object", "plain"],
  ["a function", { a: { b: () => 1 } }, "state.a.b is a function", "data"],
  ["a symbol", { a: Symbol("secret") }, "state.a is a symbol", "text"],
  ["NaN", { a: NaN }, "state.a is NaN or infinite", "null"],
  ["infinity", { a: [-Infinity] }, "state.a[0] is NaN or infinite", "null"],
  ["undefined in an array", { a: [1, undefined] }, "state.a[1] is undefined", "null"],
  ["a gap", { a: gap }, "state.a[1] is a gap", "null"],
  ["a gap at the end", { a: arrayOf(2, 1) }, "state.a[1] is a gap", "null"],
  ["an empty array with a length", { a: arrayOf(4_000_000_000) }, "state.a[0] is a gap", "null"],
  ["an array with a property", { a: "a b".match(/a/) }, "state.a is an array with", "an object"],
  ["a symbol as a key", { a: { [Symbol("secret")]: 1 } }, "state.a has a symbol", "JSON"],
  [
    "a getter",
    {
      get a() {
        return 1;
      },
    },
    "state.a is a getter",
    "the value",
  ],
  [
    "a hidden key",
    Object.defineProperty({}, "a", { value: 1 }),
    "state.a is not enumerable",
    "assign",
  ],
  ["a cycle", cyclic, "state.list[0] contains itself", "an id"],
  ["an array", [1], "state is not an object", "with a key"],
  ["nothing", undefined, "state is not an object", "with a key"],
  ["a map as the state", new Map(), "state is a Map", "an object"],
];

function nested(levels: number): object {
  let state: object = {};
  for (let n = 0; n < levels; n++) state = { a: state };
  return state;
}

describe("a state that JSON does not hold", () => {
  test.each(refused)("is refused: %s", (_, state, path, fix) => {
    const { code, data, message } = refusal(state);
    expect({ code, data }).toEqual({ code: "STATE_INVALID", data: { field: "state" } });
    expect(message).toContain(path);
    expect(message).toContain(fix);
    expect(message).not.toContain("secret");
  });

  test("a getter is not called", () => {
    let calls = 0;
    refusal({
      get a() {
        return ++calls;
      },
    });
    expect(calls).toBe(0);
  });

  test("a path has no keys that may be data", () => {
    const { message } = refusal({ users: { "ann@example.com": { [`k${"x".repeat(60)}`]: 1n } } });
    expect(message).toContain("state.users[…][…] is a BigInt");
  });

  test("a long path is shortened in its middle", () => {
    let state: object = { end: 1n };
    for (let n = 0; n < 100; n++) state = { a: state };
    expect(refusal(state).message).toContain(`state${".a".repeat(10)}…${".a".repeat(9)}.end is`);
  });

  test("it has a bounded depth", () => {
    expect(() => checkState(nested(1_000), maxBytes)).not.toThrow();
    expect(refusal(nested(1_001)).message).toContain("deeper than 1000 levels");
    expect(refusal(nested(200_000)).message).toContain("deeper than 1000 levels");
  });

  test("it has a bounded size in UTF-8", () => {
    const state = { text: "é".repeat(44) };
    expect(JSON.stringify(state)).toHaveLength(55);
    expect(checkState(state, 99)).toEqual(state);
    const { message } = refusal(state, 98);
    expect(message).toContain("limits.stateBytes allows 98");
    expect(message).not.toContain("é");
  });

  test("what repeats itself without end is refused in time", () => {
    let state: object = {};
    for (let n = 0; n < 60; n++) state = { a: state, b: state };
    expect(refusal(state).message).toContain("limits.stateBytes");
    const text = "x".repeat(900_000);
    const copies = { list: Array.from({ length: 1_000 }, () => text) };
    expect(refusal(copies).message).toContain("limits.stateBytes");
  });
});

describe("a state that JSON holds", () => {
  test("is copied as it is read again", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
        (state) => {
          const copy = checkState(state, maxBytes);
          expect(JSON.stringify(copy)).toBe(JSON.stringify(state));
          expect(copy).not.toBe(state);
        },
      ),
    );
  });

  test("may have exactly as many bytes as allowed", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (state) => {
        const bytes = Buffer.byteLength(JSON.stringify(state));
        expect(() => checkState(state, bytes)).not.toThrow();
        expect(refusal(state, bytes - 1).code).toBe("STATE_INVALID");
      }),
      { examples: [[{ a: 1 }], [{ a: "" }], [{}]] },
    );
  });

  test("a property that is undefined counts as absent", () => {
    expect(Object.keys(checkState({ a: undefined, b: 1 }, maxBytes))).toEqual(["b"]);
  });

  test("__proto__ is a key as any other", () => {
    const state = JSON.parse('{"__proto__":{"isAdmin":true}}') as object;
    const copy = checkState(state, maxBytes);
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(copy["isAdmin"]).toBeUndefined();
    const inherited = {};
    Object.setPrototypeOf(inherited, { isAdmin: true });
    expect(refusal({ inherited }).code).toBe("STATE_INVALID");
  });

  test("may have lone surrogates, which every store keeps", () => {
    expect(checkState({ "\ud83d": "\ude00" }, maxBytes)).toEqual({ "\ud83d": "\ude00" });
  });

  test("may have objects without a prototype, and those of another realm", () => {
    const state = { a: Object.assign(Object.create(null), { b: 1 }), c: runInNewContext("[{}]") };
    expect(checkState(state, maxBytes)).toEqual({ a: { b: 1 }, c: [{}] });
  });

  test("may have the same object twice", () => {
    const shared = { a: 1 };
    expect(checkState({ x: shared, y: [shared] }, maxBytes)).toEqual({ x: shared, y: [shared] });
  });
});

test("a frozen state refuses writes at every depth, whatever is in it", () => {
  const state = {
    a: [{ b: 1 }],
    date: new Date(0),
    get broken(): number {
      throw new Error("no");
    },
  };
  Object.assign(state, { self: state });
  freezeState(state);
  expect(() => (state.a[0]!.b = 2)).toThrow(TypeError);
  expect(() => state.a.push({ b: 3 })).toThrow(TypeError);
  expect(Object.isFrozen(state)).toBe(true);
  expect(Object.isFrozen(state.date)).toBe(false);
});
