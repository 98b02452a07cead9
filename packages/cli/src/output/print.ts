import type { Command } from "commander";

/** Writes a text and a new line to stdout. */
export function print(command: Command, text: string): void {
  command.configureOutput().writeOut?.(`${text}\n`);
}

/** Writes one JSON document to stdout, for `--json`. */
export function printJson(command: Command, value: unknown): void {
  const text = JSON.stringify(value, undefined, 2);
  print(command, text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped));
}

/** A character as JSON's escapes: words of servers and stores must not write over the terminal. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Writes a text and a new line to stderr: progress, warnings. */
export function tell(command: Command, text: string): void {
  command.configureOutput().writeErr?.(`${text}\n`);
}
