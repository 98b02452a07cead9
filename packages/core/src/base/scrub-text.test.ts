import { expect, test } from "vitest";
import { createScrubber, scrubJson, scrubText } from "./scrub-text.ts";

test("replaces each of several secrets, the longer of two first, and nothing in the placeholder", () => {
  const secrets = ["redacted", "token-1234", "token-1234-and-more"];
  expect(scrubText("token-1234, token-1234-and-more, redacted", secrets, "[redacted]")).toBe(
    "[redacted], [redacted], [redacted]",
  );
});

test("replaces a long secret everywhere, also inside a word and in its form inside a JSON string", () => {
  expect(scrubText("xlong-secretx", ["long-secret"], "[x]")).toBe("x[x]x");
  expect(scrubText(JSON.stringify('a"quoted"one'), ['a"quoted"one'], "[x]")).toBe('"[x]"');
});

test("replaces a short secret only where it stands alone", () => {
  const text = "a cat sat at table a1: id=a, sid_a, [a]";
  expect(scrubText(text, ["a"], "[x]")).toBe("[x] cat sat at table a1: id=[x], sid_[x], [[x]]");
});

test("leaves a text alone without a secret", () => {
  expect(scrubText("text", [], "[x]")).toBe("text");
  expect(scrubText("text", [""], "[x]")).toBe("text");
});

test("lets texts grow by a thousand placeholders in all, and cuts off what comes after them", () => {
  const scrub = createScrubber(["a"], "[placeholder]");
  const scrubbed = scrub("a ".repeat(500_000));
  expect(scrubbed).toBe("[placeholder] ".repeat(1_000));
  expect(scrub("no more of a here")).toBe("no more of ");
  expect(scrub("nothing here")).toBe("nothing here");
});

test("scrubs JSON of any depth, and keeps its shape", () => {
  const scrub = createScrubber(["long-secret"], "[x]");
  const value: unknown = JSON.parse(
    '{"long-secret":["long-secret",1,null,{"__proto__":{"a":"long-secret"}}],"code":"long-secret"}',
  );
  const expected = '{"[x]":["[x]",1,null,{"__proto__":{"a":"[x]"}}],"code":"[x]"}';
  expect(JSON.stringify(scrubJson(value, scrub))).toBe(expected);
  const levels = 100_000;
  let deep: any = scrubJson(
    JSON.parse(`${"[".repeat(levels)}"long-secret"${"]".repeat(levels)}`),
    scrub,
  );
  for (let level = 0; level < levels; level += 1) deep = deep[0];
  expect(deep).toBe("[x]");
});

test("keeps the names of given top-level members", () => {
  const scrub = createScrubber(["data"], "[x]");
  expect(scrubJson({ data: { data: "data" } }, scrub, ["data"])).toEqual({
    data: { "[x]": "[x]" },
  });
});
