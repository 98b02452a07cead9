/** A Markdown table, as docs/benchmarks.md shows it. */
export interface Table {
  /** Adds a row, or replaces the one with the same names: a test that is repeated measures again. */
  add(names: readonly string[], figures: readonly string[]): void;
  print(): void;
}

export function createTable(
  title: string,
  names: readonly string[],
  figures: readonly string[],
): Table {
  const rows = new Map<string, readonly string[]>();
  return {
    add(rowNames, rowFigures) {
      rows.set(rowNames.join("\n"), [...rowNames, ...rowFigures]);
    },
    print() {
      const rule = [...names.map(() => "---"), ...figures.map(() => "--:")];
      const lines = [[...names, ...figures], rule, ...rows.values()].map(printRow);
      console.log(`\n${title}\n\n${lines.join("\n")}\n`);
    },
  };
}

function printRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
