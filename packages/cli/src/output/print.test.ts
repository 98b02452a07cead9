import { Command } from "commander";
import { expect, test } from "vitest";
import { print, printJson, tell } from "./print.ts";

test("results go to stdout, progress goes to stderr, of a command below the program too", () => {
  const seen: string[] = [];
  const program = new Command().configureOutput({
    writeOut: (text) => seen.push(`out ${text}`),
    writeErr: (text) => seen.push(`err ${text}`),
  });
  const command = program.command("some");
  print(command, "a table");
  printJson(command, { a: 1 });
  tell(command, "still at it");
  expect(seen).toEqual(["out a table\n", 'out {\n  "a": 1\n}\n', "err still at it\n"]);
});

test("JSON has no character that writes over the terminal, and says the same", () => {
  let seen = "";
  const command = new Command().configureOutput({ writeOut: (text) => (seen += text) });
  const value = { "\u009b2J": "\u202e\u{e0041}\u2028 as it is: é" };
  printJson(command, value);
  expect(seen).not.toMatch(/[\u009b\u202e\u{e0041}\u2028]/u);
  expect(seen).toContain("as it is: é");
  expect(JSON.parse(seen)).toEqual(value);
});
