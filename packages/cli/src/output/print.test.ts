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
