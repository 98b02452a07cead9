import { oneLine, unprintable } from "@durable-mcp/core/internal";
import type { Command } from "commander";

/** Writes a text and a new line to stdout. */
export function print(command: Command, text: string): void {
  command.configureOutput().writeOut?.(`${text}\n`);
}

/** Writes one JSON document to stdout, for `--json`. */
export function printJson(command: Command, value: unknown): void {
  print(command, jsonText(value, 2));
}

/** JSON in which escapes stand for what must not be printed. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(unprintable, escaped);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Writes a text and a new line to stderr: progress, warnings. */
export function tell(command: Command, text: string): void {
  command.configureOutput().writeErr?.(`${text}\n`);
}

/** Shows on stderr what is being done now: on a terminal one line, which is overwritten; elsewhere a line for each. */
export function createProgress(command: Command) {
  const { isTTY } = process.stderr;
  return {
    show: (text: string) => (isTTY ? overwrite(`… ${oneLine(text)}`) : tell(command, `… ${text}`)),
    /** Takes it off the terminal. */
    clear: () => void (isTTY && overwrite("")),
  };
}

function overwrite(text: string): void {
  process.stderr.write(`\r\u001B[K${text}`);
}
