import { expect, test } from "vitest";
import { type CartReport, findFaults } from "./cart-report.ts";

const ada: CartReport = {
  ...{ name: "one", revision: "2025-11-25" },
  ...{ answered: ["oats"], unknown: ["tea", "rice"], cart: ["oats", "rice"] },
};
const other: CartReport = { ...ada, name: "other", answered: [], unknown: [] };

test("a cart with what was answered, and some of what is unknown, is as it should be", () => {
  expect(findFaults([ada, other])).toEqual([]);
});

test.for([
  [["rice"], "Lost: oats."],
  [["oats", "oats"], "Twice: oats."],
  [["oats", "rice", "rice"], "Twice: rice."],
  [["oats", "salt"], "Added by nobody: salt."],
] as const)("finds what is wrong with %j", ([cart, fault]) => {
  expect(
    findFaults([
      { ...ada, cart },
      { ...other, cart },
    ]),
  ).toEqual([fault]);
});

test("finds that two clients read different carts", () => {
  expect(findFaults([ada, { ...other, cart: ["oats"] }])).toEqual(["The carts differ."]);
});
