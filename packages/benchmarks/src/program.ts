/**
 * Measures everything of docs/reports/benchmarks.md, and writes the page:
 *
 *     npm run bench [-- --parts calls,size] [--rounds 50] [--quick] [--write]
 *
 * The page is written, part by part, when all are measured as they come, and with `--write`. `--quick` measures the
 * parts that count, in few rounds. A target that is missed, or not decided by its bounds, makes the command fail.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parts } from "./parts.ts";
import { writePage } from "./report/page.ts";
import type { BenchOptions, BenchPart } from "./report/part.ts";
import { type BenchResult, describeRun, loadResults, saveResults } from "./report/results.ts";
import { countResult, countText, ratioResult, ratioText, targetsOf } from "./report/targets.ts";
import { printTable } from "./report/text-table.ts";

const { values } = parseArgs({
  options: {
    parts: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const options: BenchOptions = {
  ...(values.quick && { isQuick: true, rounds: 1 }),
  ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
};

const writes =
  (!values.quick && values.parts === undefined && values.rounds === undefined) || values.write;
const failures: string[] = [];
const chosen = chosenParts();
for (const [n, id] of chosen.entries()) {
  console.log(
    `\n# ${id}, part ${n + 1} of ${chosen.length}, ${new Date().toTimeString().slice(0, 8)}`,
  );
  const run = describeRun(process.argv.slice(2));
  const start = performance.now();
  try {
    const part = await measureInProcess(id);
    const seconds = Math.round((performance.now() - start) / 1_000);
    printPart(part);
    failures.push(...missedTargets(part));
    // After each part: whoever ends a long run keeps what it has measured.
    if (writes) write({ part, run: { ...run, seconds } });
  } catch (error) {
    failures.push(`${id}: ${(error as Error).message}`);
  }
}
if (failures.length > 0) {
  console.error(`\nMissed:\n${failures.map((one) => `- ${one}`).join("\n")}`);
  process.exitCode = 1;
}

/** Replaces the result of a part, on the page too. */
function write(result: BenchResult): void {
  const all = { ...loadResults(), [result.part.id]: result };
  const results = Object.fromEntries(
    parts.filter(({ id }) => id in all).map(({ id }) => [id, all[id]!]),
  );
  saveResults(results);
  writePage(results);
}

function chosenParts(): string[] {
  const known = parts.map(({ id }) => id);
  if (values.parts === undefined) {
    return parts.filter(({ isCounted }) => isCounted || !values.quick).map(({ id }) => id);
  }
  return values.parts.split(",").map((id) => {
    if (!known.includes(id)) throw new Error(`--parts: ${id} is none of ${known.join()}.`);
    return id;
  });
}

/** A process for each part: what one compiles, and keeps in memory, would change the figures of the next. */
async function measureInProcess(id: string): Promise<BenchPart> {
  const program = fileURLToPath(new URL("report/part-program.ts", import.meta.url));
  const child: ChildProcess = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", program, id, JSON.stringify(options)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" },
  );
  let part: BenchPart | undefined;
  child.on("message", (message) => (part = message as BenchPart));
  const [code] = (await once(child, "exit")) as [number | null];
  if (part === undefined) throw new Error(`the part ended with ${code} and without figures.`);
  return part;
}

function printPart(part: BenchPart): void {
  const rows = [
    ...part.ratios.map((one) => [ratioResult(one).label, ratioText(one)]),
    ...part.counts.map((one) => [countResult(one).label, countText(one)]),
  ];
  printTable({ title: part.title, columns: ["", "measured"], rows }, false);
  for (const table of part.tables) printTable(table, false);
}

/** In a quick run a ratio has too few rounds to say anything. */
function missedTargets(part: BenchPart): string[] {
  return targetsOf(values.quick ? { ...part, ratios: [] } : part)
    .filter(({ verdict }) => verdict !== "met")
    .map((one) => `${part.id}: ${one.label}: ${one.measured}, ${one.limit}: ${one.verdict}`);
}
