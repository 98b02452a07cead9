import { expect, test } from "vitest";
import { randomToken } from "./random-token.ts";

test("gives 24 hexadecimal digits, and none twice", () => {
  const tokens = new Set<string>();
  for (let n = 0; n < 2_000; n += 1) tokens.add(randomToken());
  expect(tokens.size).toBe(2_000);
  expect([...tokens].filter((token) => !/^[\da-f]{24}$/.test(token))).toEqual([]);
});
