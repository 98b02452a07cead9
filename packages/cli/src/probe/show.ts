import { renderTable } from "../output/table.ts";
import type { Outcome, Row } from "./findings.ts";
import type { Verdict } from "./verdict.ts";

const marks: Readonly<Record<Outcome, string>> = {
  ok: "✓",
  note: "i",
  warning: "!",
  failed: "✗",
};

/** What a probe has seen, for people: a table, a verdict, and the definition to paste. */
export function showProbe(seen: {
  readonly target: string;
  readonly rows: readonly Row[];
  readonly verdict: Verdict;
  /** `undefined` if there is nothing to connect to. */
  readonly definition: string | undefined;
}): string {
  const { target, rows, verdict, definition } = seen;
  const table = renderTable(rows.map(({ check, outcome, says }) => [marks[outcome], check, says]));
  return [
    target,
    table,
    "",
    "Verdict",
    ...verdict.sentences.map((sentence, index) => (index === 0 ? sentence : `- ${sentence}`)),
    ...(definition === undefined ? [] : ["", "To paste", definition]),
  ].join("\n");
}
