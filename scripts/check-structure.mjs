// Looks at how the sources of the packages hang together:
//
//     node scripts/check-structure.mjs
//
// - Imports go one way (.dependency-cruiser.mjs).
// - Counts of the tree, with what is to be reached. A count beyond that fails nothing.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const cruised = globSync("packages/{*,*/*}/src").filter((path) => !path.includes("node_modules"));
const { status } = spawnSync("depcruise", cruised, { stdio: "inherit" });

/** The published sources: [path, text]. */
const sources = globSync("packages/*/package.json")
  .filter((file) => !JSON.parse(readFileSync(file, "utf8")).private)
  .flatMap((file) => globSync(`${dirname(file)}/src/**/*.{ts,tsx}`))
  .filter((file) => !/\.test(-d)?\.tsx?$/.test(file))
  .map((file) => [file.replaceAll("\\", "/"), readFileSync(file, "utf8")]);
const linesIn = (files) => files.reduce((sum, [, text]) => sum + text.split("\n").length - 1, 0);
const under = (folder) => sources.filter(([file]) => file.startsWith(`packages/${folder}/`));

const list = /^(?:import|export) (type )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)"/gm;
/** The values that imports or exports of a text name, with where they are from. */
function valuesIn(text) {
  return [...text.matchAll(list)].flatMap(([, type, names, all, from]) =>
    (names ?? all)
      .split(",")
      .map((name) => name.trim())
      .filter((name) => type === undefined && name !== "" && !name.startsWith("type "))
      .map((name) => ({ name: name.split(" as ")[0], from })),
  );
}
const internal = sources.filter(([file]) => file.endsWith("/internal.ts"));
const internalValues = internal.map(([file, text]) => [file, valuesIn(text).length]);
/** How many internal values of sessions the sources of a package import. */
const takenBy = (leaf) =>
  new Set(
    under(leaf)
      .filter(([file]) => !file.endsWith("/internal.ts"))
      .flatMap(([, text]) => valuesIn(text))
      .filter(({ from }) => from === "@durable-mcp/sessions/internal")
      .map(({ name }) => name),
  ).size;

const folders = Object.values(Object.groupBy(sources, ([file]) => dirname(file)));
const full = folders.filter((files) => files.length > 20).map((files) => dirname(files[0][0]));
const isExempt = /oxlint-disable[^\n]*max-lines-per-function/g;
const exempt = sources.reduce((sum, [, text]) => sum + [...text.matchAll(isExempt)].length, 0);
const aiSdk = under("ai-sdk/src").filter(([file]) => !file.startsWith("packages/ai-sdk/src/chat/"));
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

const counts = [
  ["lines of all published packages", linesIn(sources)],
  ...["core", "sessions"].map((name) => [`lines of ${name}`, linesIn(under(name))]),
  ["lines of ai-sdk without chat", linesIn(aiSdk), 2_900],
  ["files of ai-sdk without chat", aiSdk.length, 28],
  ["internal values of all packages", sum(internalValues.map(([, count]) => count)), 140],
  ...internalValues.map(([file, count]) => [`  ${file}`, count]),
  ...["ai-sdk", "langchain", "openai-agents", "workflow"].map((leaf) => [
    `internal values of sessions that ${leaf} takes`,
    takenBy(leaf),
    20,
  ]),
  ["functions over 80 lines", exempt, 0],
  ["folders over 20 files", full.length, 0],
];
for (const [name, count, most] of counts) {
  const goal = most === undefined || count <= most ? "" : `, to reach ${most.toLocaleString("en")}`;
  console.log(`${name}: ${count.toLocaleString("en")}${goal}`);
}
if (full.length > 0) console.log(`  ${full.join(", ")}`);
process.exitCode = status ?? 1;
