import { cpus } from "node:os";

/** An outcome for a cell of a table: our codes and reasons stand out. */
export const plainOutcome = (outcome: string) =>
  outcome.replaceAll(/\b(?:[A-Z]+_[A-Z_]+|other-era)\b/g, "`$&`").replaceAll("|", "\\|");

/** How often each value comes. */
export function countBy(values: string[]): Map<string, number> {
  return new Map(
    [...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]),
  );
}

export function table([head = [], ...rows]: string[][]): string {
  return [tableRow(head), tableRow(head.map(() => "---")), ...rows.map(tableRow)].join("\n");
}

const tableRow = (cells: string[]) => `| ${cells.join(" | ")} |`;

/** What it ran on, and with which clients. */
export function environment(date: string, clients: readonly string[]): string {
  const [cpu] = cpus();
  const machine = `${cpu?.model ?? "unknown CPU"}, ${cpus().length} cores, ${process.platform} ${process.arch}`;
  return table([
    ["", ""],
    ["date", date],
    ["machine", machine],
    ["Node", process.versions.node],
    ["clients", clients.join(", ")],
  ]);
}

/** Why some servers are not in the tables. */
export function notRun(
  rows: readonly { name: string; unavailable?: string | undefined }[],
): string {
  return rows
    .filter(({ unavailable }) => unavailable !== undefined)
    .map(({ name, unavailable }) => `- **${name}** did not run: ${unavailable}.`)
    .join("\n");
}

/** Puts a part into a page, in its place before another heading. */
export function replacePart(page: string, part: string, before: string): string {
  const end = page.indexOf(`\n${before}\n`);
  if (end < 0) throw new Error(`docs/reports/compatibility.md has no part ${before}`);
  const start = page.indexOf(`\n${part.slice(0, part.indexOf("\n"))}\n`);
  return `${page.slice(0, start < 0 ? end : start)}\n${part}\n${page.slice(end)}`;
}
