/**
 * `npm run lab -- faults [--family frozen|starved|gateway|store|server|balancer|clock] [--rounds 10] [--seed 7]
 * [--fault text] [--json | --markdown | --write]`: agents at work while processes are frozen or starved, and
 * stores, servers and gateways fail. Prints what became of each call, and the longest wait. Exits with 1 when something
 * was lost, doubled, crossed, silent, told wrong, or late. `--write` puts the tables into docs/reports/reliability.md,
 * and leaves those of other families there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { families } from "./families.ts";
import { type FaultRow, runFamily } from "./run-family.ts";
import { markdownTable, plainTable } from "./table.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    family: { type: "string" },
    fault: { type: "string" },
    rounds: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
    json: { type: "boolean", default: false },
    markdown: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const names = families.map(({ name }) => name);
if (values.family !== undefined && !names.includes(values.family)) {
  throw new RangeError(`--family is one of ${names.join(", ")}.`);
}
const chosen = families.filter(({ name }) => values.family === undefined || name === values.family);
const seed = wholeNumber("seed", values.seed);
const rounds = values.rounds === undefined ? undefined : wholeNumber("rounds", values.rounds);
const isForPeople = !values.json && !values.markdown;

// Each program that is started listens for the end of this one.
process.setMaxListeners(0);

/** Of the faults in a row. */
const printed = 3;

const all: FaultRow[] = [];
const tables = new Map<string, string>();
for (const family of chosen) {
  const startedAt = Date.now();
  const rows = await runFamily(family, {
    ...{ rounds, seed, only: values.fault },
    onRow: ({ name, faults }) => {
      process.stderr.write(`${family.name}: ${name}${faults.length > 0 ? ": FAULTS" : ""}\n`);
    },
  });
  all.push(...rows);
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
  const title = `${family.name}: seed ${seed}, ${seconds} s`;
  if (isForPeople) console.log(`\n${title}\n\n${plainTable(rows)}`);
  const markdown = `### ${family.name}\n\n${markdownTable(rows)}\n`;
  if (values.markdown) console.log(`\n${markdown}`);
  tables.set(family.name, markdown);
  for (const name of family.skipped) console.log(`\nskipped: ${name}`);
}
if (values.json) console.log(JSON.stringify({ seed, rows: all }, null, 2));

if (values.write) {
  const url = new URL("../../../../docs/reports/reliability.md", import.meta.url);
  const text = readFileSync(url, "utf8");
  const place = /(?<=<!-- faults -->\n\n)[^]*(?=\n<!-- \/faults -->)/;
  const parts = place.exec(text)![0].split(/\n(?=### )/);
  const kept = new Map(parts.map((part) => [/^### (.+)$/m.exec(part)![1], part]));
  const page = names.flatMap((name) => tables.get(name) ?? kept.get(name) ?? []);
  writeFileSync(
    url,
    text.replace(place, () => page.join("\n")),
  );
}

const faults = all.flatMap((row) => row.faults);
if (faults.length > 0) {
  for (const { family, name, faults: found } of all.filter((row) => row.faults.length > 0)) {
    // Usually one cause, many times.
    for (const fault of found.slice(0, printed)) console.error(fault);
    if (found.length > printed) console.error(`… and ${found.length - printed} more`);
    const again = `npm run lab -- faults --family ${family} --fault "${name}" --seed ${seed}`;
    console.error(`${rounds === undefined ? again : `${again} --rounds ${rounds}`}\n`);
  }
}
process.exitCode = faults.length === 0 ? 0 : 1;

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new RangeError(`--${option} is a whole number.`);
}
