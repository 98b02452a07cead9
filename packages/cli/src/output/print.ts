import type { Command } from "commander";

/** Writes a text and a new line to stdout. */
export function print(command: Command, text: string): void {
  command.configureOutput().writeOut?.(`${text}\n`);
}

/** Writes one JSON document to stdout, for `--json`. */
export function printJson(command: Command, value: unknown): void {
  print(command, JSON.stringify(value, undefined, 2));
}

/** Writes a text and a new line to stderr: progress, warnings. */
export function tell(command: Command, text: string): void {
  command.configureOutput().writeErr?.(`${text}\n`);
}
