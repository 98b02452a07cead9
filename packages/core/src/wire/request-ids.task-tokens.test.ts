import { expect, test } from "vitest";
import { createTaskTokens } from "./request-ids.ts";

test("keeps the tokens of a thousand tasks at most", () => {
  const tokens = createTaskTokens();
  for (let n = 0; n < 1_001; n += 1) tokens.keep(`w.${n}`, n, `t-${n}`);
  expect([tokens.find("w.0"), tokens.find("w.1"), tokens.find("w.1000")]).toEqual([
    undefined,
    1,
    1_000,
  ]);
});
