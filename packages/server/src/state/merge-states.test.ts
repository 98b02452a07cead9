import type { JsonValue } from "@durable-mcp/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSame, mergeStates } from "./merge-states.ts";
import type { StoredState } from "./stored-state.ts";

/** Small, so that the changes of two sides meet often. */
const leaf = fc.constantFrom<JsonValue>(0, 1, null, "x", [], [0], [{ a: 0 }]);
const { state: states } = fc.letrec<{ state: StoredState }>((tie) => ({
  state: fc
    .array(
      fc.tuple(
        fc.constantFrom("a", "b", "__proto__"),
        fc.oneof({ maxDepth: 2 }, leaf, tie("state") as fc.Arbitrary<JsonValue>),
      ),
      { maxLength: 3 },
    )
    .map((entries) => Object.fromEntries(entries)),
}));

const isObject = (value: unknown): value is StoredState =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const has = (state: unknown, key: string): state is StoredState =>
  isObject(state) && Object.hasOwn(state, key);

/** The changed paths, each with its new value; the definition, without regard to the time it takes. */
function changes(base: StoredState, next: StoredState, at: string[] = []): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const key of new Set([...Object.keys(base), ...Object.keys(next)])) {
    const path = [...at, key];
    const [from, to] = [
      has(base, key) ? base[key] : undefined,
      has(next, key) ? next[key] : undefined,
    ];
    if (isObject(from) && isObject(to)) {
      for (const [deep, value] of changes(from, to, path)) found.set(deep, value);
    } else if (!isSame(from, to)) found.set(JSON.stringify(path), to);
  }
  return found;
}

function clash(ours: Map<string, unknown>, theirs: Map<string, unknown>): boolean {
  const paths = [...theirs.keys()].map((path) => JSON.parse(path) as string[]);
  return [...ours.keys()].some((text) => {
    const path = JSON.parse(text) as string[];
    return paths.some((other) => {
      const shared = Math.min(path.length, other.length);
      return JSON.stringify(path.slice(0, shared)) === JSON.stringify(other.slice(0, shared));
    });
  });
}

const sides = [states, states, states] as const;

describe("two changes of one state", () => {
  test("the change of one side alone is the result", () => {
    fc.assert(
      fc.property(states, states, (base, next) => {
        expect(isSame(mergeStates(base, next, base), next)).toBe(true);
        expect(isSame(mergeStates(base, base, next), next)).toBe(true);
        expect(mergeStates(base, next, next) === undefined).toBe(!isSame(base, next));
      }),
    );
  });

  test("conflict exactly where one changed what the other changed, or what is above or below it", () => {
    let conflicts = 0;
    let merges = 0;
    fc.assert(
      fc.property(...sides, (base, ours, theirs) => {
        const isConflict = clash(changes(base, ours), changes(base, theirs));
        if (isConflict) conflicts++;
        else merges++;
        expect(mergeStates(base, ours, theirs) === undefined).toBe(isConflict);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(conflicts, merges)).toBeGreaterThan(100);
  });

  test("are both in the result, and nothing else", () => {
    fc.assert(
      fc.property(...sides, (base, ours, theirs) => {
        const merged = mergeStates(base, ours, theirs);
        fc.pre(merged !== undefined);
        const wanted = new Map([...changes(base, ours), ...changes(base, theirs)]);
        expect(changes(base, merged)).toEqual(wanted);
      }),
      { numRuns: 1_000 },
    );
  });

  test("give the same result in either order", () => {
    fc.assert(
      fc.property(...sides, (base, ours, theirs) => {
        const [one, two] = [mergeStates(base, ours, theirs), mergeStates(base, theirs, ours)];
        expect(one === undefined ? two === undefined : isSame(one, two)).toBe(true);
      }),
    );
  });
});

test("equal is what has the same keys with equal values, in any order", () => {
  expect(isSame({ a: 1, b: [{}] }, { b: [{}], a: 1 })).toBe(true);
  expect(isSame({ a: 1 }, { b: 1 })).toBe(false);
  expect(isSame([], {})).toBe(false);
  expect(isSame([1, 2], [2, 1])).toBe(false);
  expect(isSame(null, {})).toBe(false);
  expect(isSame({}, JSON.parse('{"__proto__":{}}') as JsonValue)).toBe(false);
});
