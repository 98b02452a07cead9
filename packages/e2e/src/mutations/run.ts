/**
 * `npm run lab -- mutations [--count 60] [--seed 30] [--json]`: makes one-line faults at random places of core,
 * sessions and ai-sdk, one at a time, and counts those that the tests of these packages catch. It works in a clone of the last
 * commit, and exits with 1 when the tests fail without a fault.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { findMutations, type Mutation } from "./find-mutations.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    count: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
    json: { type: "boolean", default: false },
  },
});
const random = randomFromSeed(Number(values.seed));
/** A fault may make a test wait for ever. */
const limitMs = 300_000;

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const clone = mkdtempSync(join(tmpdir(), "mutations-"));
process.on("exit", () => rmSync(clone, { recursive: true, force: true }));
execFileSync("git", ["clone", "--quiet", root, clone]);
execFileSync("pnpm", ["install", "--prefer-offline", "--silent"], { cwd: clone, stdio: "ignore" });

interface Place extends Mutation {
  readonly path: string;
}

const mutated = ["core", "sessions", "ai-sdk"].map((name) => `packages/${name}/src`);
const sources = execFileSync("git", ["ls-files", ...mutated], {
  cwd: clone,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path.endsWith(".ts") && !/\.test(?:-d)?\.ts$|\/testing\//.test(path));
const places: Place[] = sources.flatMap((path) =>
  findMutations(readFileSync(join(clone, path), "utf8")).map((mutation) => ({ path, ...mutation })),
);

if (!pass()) {
  console.error("The tests of core, sessions and ai-sdk fail without a fault.");
  process.exit(1);
}
const rows: { place: string; before: string; after: string; isCaught: boolean }[] = [];
for (let made = 0; made < Number(values.count); made += 1) {
  const [{ path, start, end, text } = undefined as never] = places.splice(
    Math.floor(random() * places.length),
    1,
  );
  const file = join(clone, path);
  const source = readFileSync(file, "utf8");
  const faulty = source.slice(0, start) + text + source.slice(end);
  writeFileSync(file, faulty);
  // The tests of its room are asked first: most faults end there.
  const room = basename(dirname(path));
  const isCaught = !pass([`${dirname(path)}/`, `packages/ai-sdk/test/${room}/`]) || !pass();
  writeFileSync(file, source);
  const line = source.slice(0, start).split("\n").length;
  const lineOf = (of: string) => of.split("\n")[line - 1]!.trim();
  rows.push({ place: `${path}:${line}`, before: lineOf(source), after: lineOf(faulty), isCaught });
  console.error(`${made + 1} ${isCaught ? "caught" : "MISSED"} ${path}:${line}: ${lineOf(faulty)}`);
}
const caught = rows.filter(({ isCaught }) => isCaught).length;
if (values.json) console.log(JSON.stringify({ seed: Number(values.seed), caught, rows }, null, 2));
else
  console.log(
    `seed ${values.seed}: ${caught} of ${rows.length} faults caught, of ${places.length + rows.length} possible`,
  );

/** @param folders runs only the tests in these. @default all */
function pass(folders?: readonly string[]): boolean {
  const only =
    folders === undefined
      ? ["core", "sessions", "ai-sdk"].map((name) => `packages/${name}/`)
      : [...folders, "--passWithNoTests"];
  const { status } = spawnSync(
    "pnpm",
    ["exec", "vitest", "run", ...only, "--bail", "1", "--reporter", "dot"],
    {
      ...{ cwd: clone, stdio: "ignore", timeout: limitMs, killSignal: "SIGKILL" },
    },
  );
  return status === 0;
}
