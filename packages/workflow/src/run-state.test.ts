import { expect, test } from "vitest";
import { printRunState, readRunState } from "./run-state.ts";

test("reads what it printed, by connection", () => {
  const slots = new Map([
    ["cart", { slot: "sealed-1", isReplacement: false }],
    ["browser", { slot: "sealed-2", isReplacement: true }],
  ]);
  const state = printRunState(slots);
  expect(readRunState(state, "cart")).toEqual(slots.get("cart"));
  expect(readRunState(state, "browser")).toEqual(slots.get("browser"));
  expect(readRunState(state, "other")).toBeUndefined();
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
    expect(readRunState(state, "cart")).toBeUndefined();
    expect(readRunState(state, "constructor")).toBeUndefined();
  });
}
