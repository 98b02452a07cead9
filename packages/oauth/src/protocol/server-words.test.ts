import { expect, test } from "vitest";
import { errorWord, serverWords } from "./server-words.ts";

test("a text is one line without anything that could not be seen", () => {
  expect(serverWords("a\r\n\tb\u0000\u001B[31mc\u202Ed\u200Be", [])).toBe("a b [31mc d e");
  expect(serverWords("x".repeat(5_000), [])).toBe(`${"x".repeat(200)}…`);
  expect(serverWords({ toString: () => "x" }, [])).toBe("");
});

test("a secret is gone, however often it is there, and also in its form in a URL", () => {
  const secret = `a/b+c=${"d".repeat(3_000)}`;
  const text = `${secret}${encodeURIComponent(secret)} and ${secret}`.repeat(20);
  expect(serverWords(text, [secret, undefined])).not.toMatch(/ddd|a\/b|a%2F/);
});

test.each(["invalid_grant", "urn:example:error", "use_dpop_nonce", "E1"])(
  "%s is an error code",
  (word) => expect(errorWord(word, [])).toBe(word),
);

test.each(["", "Bad Request", "<b>", "a\nb", "x".repeat(65), 400, null, undefined, ["a"]])(
  "%j is no error code",
  (value) => expect(errorWord(value, [])).toBeUndefined(),
);

test("a secret is no error code", () => {
  expect(errorWord("the-secret-of-them", ["the-secret-of-them"])).toBeUndefined();
  expect(errorWord("the-secret-of-them.again", ["the-secret-of-them"])).toBeUndefined();
});
