import { Command } from "commander";
import { expect, test } from "vitest";
import { printJson } from "./print.ts";

test("JSON has no character that writes over the terminal, and says the same", () => {
  let seen = "";
  const command = new Command().configureOutput({ writeOut: (text) => (seen += text) });
  const value = { "\u009b2J": "\u202e\u{e0041}\u2028 as it is: é" };
  printJson(command, value);
  expect(seen).not.toMatch(/[\u009b\u202e\u{e0041}\u2028]/u);
  expect(seen).toContain("as it is: é");
  expect(JSON.parse(seen)).toEqual(value);
});
