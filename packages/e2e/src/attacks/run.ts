/**
 * `npm run lab -- attacks [--class text]`: the tests that attack, by class: how many held, what did not run, and each
 * attack that does not hold, with its reason. Exits with 1 when one failed, or a class has tests that are not there.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { attackClasses } from "./classes.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const vitest = join(
  dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
  "vitest.mjs",
);

const { values } = parseArgs({ options: { class: { type: "string", default: "" } } });
const classes = attackClasses.filter(({ name }) => name.includes(values.class));

interface Attack {
  readonly file: string;
  readonly fullName: string;
  readonly status: string;
}

const files = [...new Set(classes.flatMap(({ attacks }) => attacks.map(([file]) => file)))];
const isOfMatrix = (file: string) => file.includes(".matrix.");
const run = [
  ...runAll(
    "test",
    files.filter((file) => !isOfMatrix(file)),
  ),
  ...runAll("matrix", files.filter(isOfMatrix)),
];

let failures = 0;
for (const { name, attacks, exceptions = [] } of classes) {
  const found = attacks.map(([file, titles]) =>
    run.filter((attack) => attack.file === file && titles.test(attack.fullName)),
  );
  const own = [...new Set(found.flat())];
  const held = own.filter(({ status }) => status === "passed").length;
  const fallen = own.filter(({ status }) => status === "failed");
  const missing = attacks.filter((_, at) => found[at]!.length === 0);
  const notRun = own.length - held - fallen.length;
  const more = notRun > 0 ? ` (${notRun} not run: their server is not here)` : "";
  console.log(`${held} of ${own.length - notRun} held: ${name}${more}`);
  for (const { file, fullName } of fallen) console.log(`  fell: ${file}: ${fullName}`);
  for (const [file, titles] of missing) console.log(`  no such test: ${file} ${titles}`);
  for (const [attack, reason] of exceptions) console.log(`  not held: ${attack}: ${reason}`);
  failures += fallen.length + missing.length;
}
process.exitCode = failures > 0 ? 1 : 0;

/** What became of each test of these files. */
function runAll(mode: string, names: readonly string[]): Attack[] {
  if (names.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), "attacks-"));
  const outputFile = join(folder, "report.json");
  const report = ["--reporter=json", `--outputFile=${outputFile}`];
  const given = names.map((name) => `packages/${name}`);
  // What it prints of failures stands in the report.
  spawnSync(process.execPath, [vitest, "run", "--mode", mode, ...report, ...given], {
    ...{ cwd: root, stdio: ["ignore", "ignore", "inherit"] },
    env: { ...process.env, CI: "" },
  });
  const { testResults } = JSON.parse(readFileSync(outputFile, "utf8"));
  rmSync(folder, { recursive: true });
  return testResults.flatMap(({ name, assertionResults }: any) =>
    assertionResults.map(({ fullName, status }: any) => ({
      ...{ file: name.slice(join(root, "packages/").length), fullName, status },
    })),
  );
}
