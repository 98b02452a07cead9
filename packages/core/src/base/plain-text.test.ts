import { expect, test } from "vitest";
import { McpSessionError } from "./mcp-session-error.ts";
import { oneLine, plainText } from "./plain-text.ts";

const hostile =
  "a\u001b[2J\u009b1A\u0007\r\u007f\u2028\u061c\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\u{e0041}z";

test("what is printed has no escape sequence, no control and no mark that turns the text", () => {
  expect(plainText(hostile)).toBe("a [2J 1A             z");
  expect(plainText("é 漢字\n\t👩\u200d🚀 می\u200cخواهم")).toBe(
    "é 漢字\n\t👩\u200d🚀 می\u200cخواهم",
  );
  expect(oneLine(` ${hostile}\nb`)).toBe("a [2J 1A z b");
  expect(oneLine("x".repeat(300))).toBe(`${"x".repeat(200)}…`);
});

test("the message of every error of this project is such a text", () => {
  const { message } = new McpSessionError("CONNECTION_UNAVAILABLE", `says ${hostile}`);
  expect(message).toBe("says a [2J 1A             z");
});
