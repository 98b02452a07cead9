import { globSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of a program on the `PATH` or, the newest first, in further folders. */
export function findProgram(name: string, patterns: readonly string[] = []): string | undefined {
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...patterns.flatMap((pattern) => globSync(pattern).toSorted(byNumber).toReversed()),
  ];
  return folders.map((folder) => join(folder, name)).find(isFile);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
