import type { FaultRow } from "./run-family.ts";

const heads = [
  "fault",
  "rounds",
  "calls",
  "answered",
  "refused clearly",
  "unknown outcome",
  "faults",
  "longest wait, of the documented",
] as const;

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

function cellsOf({ name, rounds, calls, answered, refused, unknown, faults, wait }: FaultRow) {
  const counts = [rounds, calls, answered, refused, unknown, faults.length].map(String);
  const longest = wait ? `${wait.phase}: ${seconds(wait.ms)} of ${seconds(wait.limitMs)} s` : "";
  return [name, ...counts, longest];
}

/** The rows of one family, and all of them together. */
function linesOf(rows: readonly FaultRow[]): string[][] {
  const sum = (count: (row: FaultRow) => number) => rows.reduce((all, row) => all + count(row), 0);
  const all: FaultRow = {
    ...{ family: "", name: "all", wait: undefined },
    rounds: sum((row) => row.rounds),
    calls: sum((row) => row.calls),
    answered: sum((row) => row.answered),
    refused: sum((row) => row.refused),
    unknown: sum((row) => row.unknown),
    faults: rows.flatMap((row) => row.faults),
  };
  return [[...heads], ...[...rows, all].map(cellsOf)];
}

/** The rows of one family, in columns. */
export function plainTable(rows: readonly FaultRow[]): string {
  const lines = linesOf(rows);
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const isText = (column: number) => column === 0 || column === heads.length - 1;
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          isText(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The same for a page of the documentation. */
export function markdownTable(rows: readonly FaultRow[]): string {
  const rule = "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |";
  const lines = linesOf(rows).map((cells) => `| ${cells.join(" | ")} |`);
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
