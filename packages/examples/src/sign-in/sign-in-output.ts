import type { Figures, Happened } from "./sign-in-run.ts";

export type Library = "durable-mcp" | "ai-sdk";

/** Where the demo shows what happened, as it comes. */
export interface SignInOutput {
  text: (text: string) => void;
  title: (text: string) => void;
  happened: (library: Library, happened: Happened) => void;
}

/** For programs: one JSON object a step on stdout, nothing else. */
export const jsonOutput: SignInOutput = {
  text: () => {},
  title: () => {},
  happened: (library, happened) => console.log(JSON.stringify({ with: library, ...happened })),
};

const width = 55;

/** For people: a table, less than 100 columns wide. */
export const tableOutput: SignInOutput = {
  text: (text) => console.log(`\n${text}`),
  title: (text) => {
    console.log(`\n${text}\n`);
    printRow("step", "process", "what happened", "to the shop", "to the other");
    printRow("────", "───────", "─".repeat(width), "───────────", "────────────");
  },
  happened: (_library, { step, pids, lines, toShop, toAuthorization }) => {
    for (const [index, line] of lines.entries()) {
      const pid = pids[index] ?? "";
      if (index === 0) printRow(step, pid, line, toShop, toAuthorization);
      else printRow("", pid, line, "", "");
    }
  },
};

function printRow(
  step: string | number,
  pid: string | number,
  what: string,
  toShop: string | number,
  toAuthorization: string | number,
): void {
  const cells = [
    String(step).padStart(4),
    String(pid).padStart(7),
    what.padEnd(width),
    String(toShop).padEnd(11),
    toAuthorization,
  ];
  console.log(cells.join("  ").trimEnd());
}

/** `registered 1, signed in 1, refreshed 1, grants lost 0, orders 3` */
export function describeFigures(figures: Figures): string {
  const { registered, signedIn, refreshed, revoked, orders } = figures;
  const grants = `registered ${registered}, signed in ${signedIn}, refreshed ${refreshed}`;
  return `${grants}, grants lost ${revoked}, orders ${orders}`;
}
