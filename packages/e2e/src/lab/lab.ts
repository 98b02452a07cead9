/**
 * `npm run lab -- <part> [arguments]`: one of the programs that take long. Without a part it lists them;
 * `npm run lab -- <part> --help` has the arguments of one. `npm run lab -- all --share` runs a short share of each.
 * Exits with 1 when a part found a fault.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type LabPart, labParts } from "./parts.ts";

const packages = fileURLToPath(new URL("../../../", import.meta.url));

const [name, ...given] = process.argv.slice(2);
if (name === undefined || name === "--help") list();
else if (name === "all") runAll(given.includes("--share"));
else {
  const part = labParts.find((each) => each.name === name);
  if (part === undefined) {
    throw new RangeError(`There is no part ${name}; it is one of ${names().join(", ")}.`);
  }
  if (given.includes("--help")) console.log(helpOf(part));
  else process.exitCode = run(part, given);
}

function names(): string[] {
  return labParts.map((part) => part.name);
}

function list(): void {
  const width = Math.max(...names().map(({ length }) => length));
  for (const part of labParts) {
    console.log(`${part.name.padEnd(width)}  ${part.lasts.padStart(6)}  ${part.about}`);
  }
  console.log("\nnpm run lab -- <part> [arguments], <part> --help, or all --share");
}

function runAll(isShare: boolean): void {
  const chosen = labParts.filter(({ share }) => !isShare || share !== undefined);
  const results = chosen.map((part) => {
    console.log(`\n=== ${part.name}`);
    const startedAt = Date.now();
    const code = run(part, isShare ? part.share! : []);
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    return { code, line: `${part.name.padEnd(16)} ${code === 0 ? "ok" : "failed"} ${seconds} s` };
  });
  console.log(`\n${results.map(({ line }) => line).join("\n")}`);
  process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;
}

/** @returns its exit code */
function run({ program, node = [], args = [] }: LabPart, own: readonly string[]): number {
  const command =
    program === undefined
      ? [vitest(), "run", "--mode", "matrix", ...args]
      : ["--conditions=@durable-mcp/source", ...node, join(packages, program), ...args];
  // It takes the signals of the terminal itself.
  return spawnSync(process.execPath, [...command, ...own], { stdio: "inherit" }).status ?? 1;
}

function vitest(): string {
  return join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
}

/** What the program says of itself in its first comment. */
function helpOf({ about, program, lasts }: LabPart): string {
  const source = program === undefined ? "" : readFileSync(join(packages, program), "utf8");
  const [, comment = ""] = /^\/\*\*\n([^]*?)\n \*\//.exec(source) ?? [];
  const words = comment.replaceAll(/^ \* ?/gm, "").replaceAll(/\n(?=\S)/g, " ");
  return `${about} It takes ${lasts}.\n\n${words}`.trim();
}
