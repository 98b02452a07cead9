import { expect, test } from "vitest";
import { printRunState, readRunState } from "./run-state.ts";

test("reads what it printed, by connection", () => {
  const slots = new Map([
    ["cart", { slot: "sealed-1", isReplacement: false }],
    ["browser", { slot: "sealed-2", isReplacement: true }],
  ]);
  const state = printRunState(slots);
  expect(readRunState(state).get("cart")).toEqual(slots.get("cart"));
  expect(readRunState(state).get("browser")).toEqual(slots.get("browser"));
  expect(readRunState(state).get("other")).toBeUndefined();
  expect(printRunState(new Map())).toBeUndefined();
});

const strange = [
  undefined,
  null,
  7,
  {},
  "",
  "null",
  "[]",
  "{",
  '{"version":2,"slots":{"cart":{"slot":"x"}}}',
  '{"version":1,"slots":null}',
  '{"version":1,"slots":{"cart":null}}',
  '{"version":1,"slots":{"cart":{"slot":7}}}',
  '{"version":1,"slots":{"__proto__":{"cart":{"slot":"x"}}}}',
];
for (const state of strange) {
  test(`finds no slot in ${JSON.stringify(state)}`, () => {
    expect(readRunState(state).get("cart")).toBeUndefined();
    expect(readRunState(state).get("constructor")).toBeUndefined();
  });
}

test("finds no slots in what is too large", () => {
  const state = printRunState(new Map([["cart", { slot: "x".repeat(1e6), isReplacement: false }]]));
  expect(readRunState(state).size).toBe(0);
});
