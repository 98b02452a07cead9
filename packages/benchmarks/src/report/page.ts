import { readFileSync, writeFileSync } from "node:fs";
import type { BenchPart } from "./part.ts";
import type { BenchResult } from "./results.ts";
import { countResult, ratioResult, type TargetResult, targetsOf, verdictTexts } from "./targets.ts";
import { markdownTable } from "./text-table.ts";

/** The page is its own template: what stands between `<!-- calls -->` and `<!-- /calls -->` is written, all else is kept. */
const page = new URL("../../../../docs/reports/benchmarks.md", import.meta.url);

/** Writes docs/reports/benchmarks.md. */
export function writePage(results: Readonly<Record<string, BenchResult>>): void {
  const old = readFileSync(page, "utf8");
  let text = fillSection(old, "targets", targetsSection(old, results));
  for (const [id, { part, run }] of Object.entries(results)) {
    const { command, date, cpu, node, loadBefore, seconds } = run;
    const runText = `Measured by \`${command}\` on ${date}: ${cpu}; Node ${node}; load average ${loadBefore} before, ${seconds} s.`;
    const section = [...part.notes, runText, figuresSection(part)].join("\n\n");
    text = fillSection(text, id, section);
  }
  writeFileSync(page, text);
}

/** Replaces what stands between two markers. */
export function fillSection(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page has no ${start} … ${end}. Add them.`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}

/** How many targets each part reaches, and which it misses. */
export function targetsSection(
  pageText: string,
  results: Readonly<Record<string, BenchResult>>,
): string {
  const rows = Object.entries(results).map(([id, { part }]) => {
    const targets = targetsOf(part);
    const missed = targets.filter(({ verdict }) => verdict !== "met");
    const missedTexts = missed.map((one) =>
      escapeCell(
        `${one.label}: ${one.measured}, ${one.limit}${one.verdict === "open" ? ", not decided" : ""}`,
      ),
    );
    return [
      `[${part.title}](#${anchorOf(pageText, id)})`,
      `${targets.length - missed.length} of ${targets.length}`,
      missedTexts.join("<br>") || "–",
    ];
  });
  return markdownTable({ columns: ["", "targets met", "not met"], rows });
}

/** Of the heading over the section. */
function anchorOf(pageText: string, id: string): string {
  const before = pageText.slice(0, pageText.indexOf(`<!-- ${id} -->`));
  const heading = [...before.matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? id;
  return heading.toLowerCase().replaceAll(" ", "-");
}

/** Counts without a target are in results.json. */
function figuresSection({ ratios, counts, tables }: BenchPart): string {
  const targeted = counts.filter(({ target }) => target !== undefined);
  const shown = [
    {
      title: "Ratios",
      columns: ["", "median and bounds", "target", ""],
      figures: ratios.map(ratioResult),
    },
    { title: "Counts", columns: ["", "counted", "target", ""], figures: targeted.map(countResult) },
  ]
    .filter(({ figures }) => figures.length > 0)
    .map(({ title, columns, figures }) => ({ title, columns, rows: figures.map(rowOf) }));
  const texts = [...shown, ...tables].map((table) => {
    const rows = table.rows.map((cells) => cells.map(escapeCell));
    return `**${table.title}**\n\n${markdownTable({ columns: table.columns, rows })}`;
  });
  return `<details>\n<summary>All figures</summary>\n\n${texts.join("\n\n")}\n\n</details>`;
}

function rowOf({ label, measured, limit, verdict }: TargetResult): string[] {
  return [label, measured, limit ?? "–", limit === undefined ? "–" : verdictTexts[verdict]];
}

/** A cell is text: neither the end of the cell nor an element. */
function escapeCell(cell: string | number): string {
  return String(cell).replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
