/**
 * `npm run lab -- mutations [--packages sessions] [--count 60] [--from 0] [--seed 30] [--commit HEAD] [--projects units]
 * [--json]`: makes one-line faults at random places of packages (core, sessions, ai-sdk), one at a time, and says of each
 * which test caught it, or that none did. One run without faults notes which test files run each place: these alone are
 * asked, those of its room first. Files that fail in that run are told, and not asked. The same seed gives the same
 * faults, so that several programs share them by `--from`. Before the tests had projects for several packages,
 * `--projects` were those of packages: `core,ai-sdk`. It works in a clone.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { findMutations } from "./find-mutations.ts";
import { noteTests, type Place } from "./note-tests.ts";
import { type Failure, openTests } from "./warm-tests.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    packages: { type: "string", default: "core,sessions,ai-sdk" },
    count: { type: "string", default: "60" },
    from: { type: "string", default: "0" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
    commit: { type: "string", default: "HEAD" },
    projects: { type: "string", default: "units" },
    json: { type: "boolean", default: false },
  },
});

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const clone = mkdtempSync(join(tmpdir(), "mutations-"));
process.on("exit", () => {
  // What hangs would go on: the workers, and what tests have started.
  const { stdout } = spawnSync("pgrep", ["-f", clone], { encoding: "utf8" });
  spawnSync("kill", ["-9", ...stdout.split("\n").filter(Boolean)]);
  rmSync(clone, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
execFileSync("git", ["clone", "--quiet", "--no-checkout", root, clone]);
const commit = execFileSync("git", ["rev-parse", values.commit], { cwd: root, encoding: "utf8" });
execFileSync("git", ["checkout", "--quiet", "--detach", commit.trim()], { cwd: clone });
execFileSync("pnpm", ["install", "--prefer-offline", "--silent"], { cwd: clone, stdio: "ignore" });

const mutated = values.packages.split(",").map((name) => `packages/${name}/src`);
const sources = execFileSync("git", ["ls-files", ...mutated], { cwd: clone, encoding: "utf8" })
  .split("\n")
  .filter((path) => path.endsWith(".ts") && !/\.test(?:-d)?\.ts$|\/testing\//.test(path));
const places: Place[] = sources.flatMap((path) =>
  findMutations(readFileSync(join(clone, path), "utf8")).map((mutation) => ({ path, ...mutation })),
);
const possible = places.length;
const random = randomFromSeed(Number(values.seed));
const from = Number(values.from);
const chosen = Array.from(
  { length: Math.min(from + Number(values.count), possible) },
  () => places.splice(Math.floor(random() * places.length), 1)[0]!,
).slice(from);

const tests = await openTests(clone, values.projects.split(","));
const testsOf = await noteTests(clone, tests, chosen);

/** What caught the last fault of a folder comes first. */
const lastCatches = new Map<string, string>();
/** What has caught a fault, and passed without one. */
const passing = new Set<string>();
const rows = [];
for (const [index, place] of chosen.entries()) {
  const { path, start, end, text } = place;
  const source = readFileSync(join(clone, path), "utf8");
  const faulty = source.slice(0, start) + text + source.slice(end);
  const write = (content: string) => {
    writeFileSync(join(clone, path), content);
    tests.changed(path);
  };
  write(faulty);
  const files = inOrder(testsOf[index]!, dirname(path));
  const failure = await failureOf(files, write, { source, faulty });
  write(source);
  if (failure?.file !== undefined) lastCatches.set(dirname(path), failure.file);
  const line = source.slice(0, start).split("\n").length;
  const lineOf = (of: string) => of.split("\n")[line - 1]!.trim();
  const caughtBy = failure?.told;
  const row = { place: `${path}:${line}`, before: lineOf(source), after: lineOf(faulty), caughtBy };
  rows.push(row);
  const outcome = caughtBy === undefined ? `SURVIVED ${files.length} files` : "found";
  console.error(
    `${from + index} ${outcome} ${row.place}: ${row.before} → ${row.after} ${caughtBy ?? ""}`,
  );
  if (failure?.isOver) {
    console.error(`Go on with --from ${from + index + 1}: the tests cannot be stopped otherwise.`);
    break;
  }
}
const caught = rows.filter(({ caughtBy }) => caughtBy !== undefined).length;
const seed = Number(values.seed);
if (values.json) console.log(JSON.stringify({ seed, from, possible, caught, rows }, null, 2));
else console.log(`seed ${seed}: ${caught} of ${rows.length} faults found, of ${possible} possible`);
// Vitest would wait for its workers.
process.exit(0);

function inOrder(files: readonly string[], folder: string): string[] {
  const room = [`${folder}/`, `packages/ai-sdk/test/${basename(folder)}/`];
  const rank = (file: string) => {
    if (lastCatches.get(folder) === file) return 0;
    return room.some((path) => file.startsWith(path)) ? 1 : 2;
  };
  const times = tests.durations;
  return files.toSorted((a, b) => rank(a) - rank(b) || times.get(a)! - times.get(b)!);
}

/**
 * Runs test files until one fails which fails by itself as well, and not without the fault: a busy machine makes tests
 * fail, too.
 */
async function failureOf(
  files: readonly string[],
  write: (content: string) => void,
  { source, faulty }: { readonly source: string; readonly faulty: string },
): Promise<Failure | undefined> {
  if (files.length === 0) return undefined;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const failure = await tests.run(files);
    if (failure?.file === undefined) return failure;
    const again = await tests.run([failure.file]);
    if (again !== undefined && !passing.has(failure.file)) {
      write(source);
      if ((await tests.run([failure.file])) === undefined) passing.add(failure.file);
      write(faulty);
    }
    if (again !== undefined && passing.has(failure.file)) return failure;
  }
  return undefined;
}
