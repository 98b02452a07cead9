import { describe, expect, test } from "vitest";
import { scrubSecrets } from "./scrub-secrets.ts";

describe("scrubSecrets", () => {
  test.each([
    [
      "a token",
      "Bearer abcdefgh was refused",
      ["Bearer abcdefgh"],
      "Bearer [redacted] was refused",
    ],
    ["a token alone", "bad token: abcdefgh", ["Bearer abcdefgh"], "bad token: [redacted]"],
    ["a key", "abcdefgh, abcdefgh", ["abcdefgh"], "[redacted], [redacted]"],
    ["a key with quotes in JSON", '{"a":"abc\\"efgh"}', ['abc"efgh'], '{"a":"[redacted]"}'],
    ["several", "abcdefgh 12345678", ["abcdefgh", "12345678"], "[redacted] [redacted]"],
    ["what is trimmed on the wire", "bad: abcdefgh", ["abcdefgh\n"], "bad: [redacted]"],
    ["no short values", "tenant 1 of 1", ["1", ""], "tenant 1 of 1"],
  ])("takes out %s", (_, text, values, expected) => {
    expect(scrubSecrets(text, values)).toBe(expected);
  });
});
