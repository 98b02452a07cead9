/**
 * `npm run lab -- mutations [--packages sessions] [--count 60] [--from 0] [--seed 30] [--commit HEAD] [--projects units]
 * [--json]`: makes one-line faults at random places of packages (core, sessions, ai-sdk), one at a time, and says of each
 * which test caught it, or that none did. Each is asked first of the tests of its room, then of all that import its file.
 * The same seed gives the same faults, so that several programs share them by `--from`. Before the tests had projects
 * for several packages, `--projects` were those of packages: `core,ai-sdk`. It works in a clone, and exits with 1 when
 * the tests fail without a fault.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify, stripVTControlCharacters } from "node:util";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { findMutations, type Mutation } from "./find-mutations.ts";

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
/** A fault may make a test wait for ever. Without a fault the tests take a third of it. */
let limitMs = 1_800_000;

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const clone = mkdtempSync(join(tmpdir(), "mutations-"));
const run = promisify(execFile);
let stop = () => true;
process.on("exit", () => {
  stop();
  rmSync(clone, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
execFileSync("git", ["clone", "--quiet", "--no-checkout", root, clone]);
const commit = execFileSync("git", ["rev-parse", values.commit], { cwd: root, encoding: "utf8" });
execFileSync("git", ["checkout", "--quiet", "--detach", commit.trim()], { cwd: clone });
execFileSync("pnpm", ["install", "--prefer-offline", "--silent"], { cwd: clone, stdio: "ignore" });

interface Place extends Mutation {
  readonly path: string;
}

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

const files = [...new Set(chosen.map(({ path }) => path))];
const startedAt = Date.now();
const broken =
  files.length === 0 ? undefined : await failure(["related", ...files], async () => undefined);
if (broken !== undefined) {
  console.error(`The tests fail without a fault: ${broken}`);
  process.exit(1);
}
limitMs = Math.max(120_000, 3 * (Date.now() - startedAt));

const rows = [];
for (const [index, { path, start, end, text }] of chosen.entries()) {
  const file = join(clone, path);
  const source = readFileSync(file, "utf8");
  const faulty = source.slice(0, start) + text + source.slice(end);
  writeFileSync(file, faulty);
  // Most faults end in their room.
  const room = [`${dirname(path)}/`, `packages/ai-sdk/test/${basename(dirname(path))}/`];
  const withoutFault = async (work: () => Promise<unknown>) => {
    writeFileSync(file, source);
    const result = await work();
    writeFileSync(file, faulty);
    return result;
  };
  const caughtBy =
    (await failure(["run", ...room], withoutFault)) ??
    (await failure(["related", path], withoutFault));
  writeFileSync(file, source);
  const line = source.slice(0, start).split("\n").length;
  const lineOf = (of: string) => of.split("\n")[line - 1]!.trim();
  const row = { place: `${path}:${line}`, before: lineOf(source), after: lineOf(faulty), caughtBy };
  rows.push(row);
  const outcome = caughtBy === undefined ? "SURVIVED" : "found";
  console.error(
    `${from + index} ${outcome} ${row.place}: ${row.before} → ${row.after} ${caughtBy ?? ""}`,
  );
}
const caught = rows.filter(({ caughtBy }) => caughtBy !== undefined).length;
const seed = Number(values.seed);
if (values.json) console.log(JSON.stringify({ seed, from, possible, caught, rows }, null, 2));
else console.log(`seed ${seed}: ${caught} of ${rows.length} faults found, of ${possible} possible`);

/**
 * Runs tests until one fails, in a file that fails by itself as well, and not without the fault: a busy machine makes
 * tests fail, too.
 *
 * @returns which; `undefined` if all pass
 */
async function failure(
  tests: readonly string[],
  withoutFault: (work: () => Promise<unknown>) => Promise<unknown>,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const told = await firstFailure(tests);
    const [, file] = /^\|[^|]+\| (\S+)/.exec(told ?? "") ?? [];
    if (file === undefined) return told;
    const again = await firstFailure(["run", file]);
    const isFaults =
      again !== undefined && (await withoutFault(() => firstFailure(["run", file]))) === undefined;
    if (isFaults) return told;
  }
  return undefined;
}

async function firstFailure(tests: readonly string[]): Promise<string | undefined> {
  const projects = values.projects.split(",").flatMap((name) => ["--project", name]);
  const given = [...tests, "--run", ...projects, "--passWithNoTests", "--bail", "1"];
  const options = {
    cwd: clone,
    timeout: limitMs,
    killSignal: "SIGKILL",
    maxBuffer: 2 ** 28,
  } as const;
  const running = run("pnpm", ["exec", "vitest", ...given, "--reporter", "dot"], options);
  stop = () => running.child.kill();
  try {
    await running;
    return undefined;
  } catch (error) {
    const { killed, stdout, stderr } = error as { killed: boolean; stdout: string; stderr: string };
    const [, told] = /FAIL +(.+)/.exec(stripVTControlCharacters(`${stdout}${stderr}`)) ?? [];
    return told ?? (killed ? "tests that hang" : "tests that do not start");
  }
}
