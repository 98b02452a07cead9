import { programArguments } from "../processes/programs.ts";

/** Runs a program of ours. With `exec` it takes the shell's place, so that it is what the suite ends. */
export function shellCommand(program: URL, ...args: string[]): string {
  const parts = [process.execPath, ...programArguments(program)];
  return ["exec", ...parts.map(quoted), ...args].join(" ");
}

function quoted(part: string): string {
  return `'${part.replaceAll("'", String.raw`'\''`)}'`;
}
