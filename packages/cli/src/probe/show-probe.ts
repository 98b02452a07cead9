import { renderTable } from "../output/table.ts";
import { marks } from "./checks.ts";
import { moduleOf } from "./definition.ts";
import type { Seen } from "./probe-declared.ts";

/** What a probe has seen, for `--json`. */
export function seenJson({ shown, verdict, facts, rows, definition }: Seen) {
  return {
    ...{ target: shown, ...verdict, facts, rows },
    definition: definition && moduleOf(definition),
  };
}

/** Why a probe ends with 1. */
export function faultOf({ rows, verdict }: Seen): string | undefined {
  const failed = rows.find(({ outcome }) => outcome === "failed");
  if (failed !== undefined) return `${failed.check}: ${failed.says}`;
  return verdict.isUsable ? undefined : (verdict.sentences[0] ?? "");
}

/** What a probe has seen, for people: a table, and a verdict. */
export function showProbe(target: string, { rows, verdict: { sentences } }: Seen): string {
  const table = renderTable(rows.map(({ check, outcome, says }) => [marks[outcome], check, says]));
  const [first = "", ...rest] = sentences;
  return [target, table, "", "Verdict", first, ...rest.map((each) => `- ${each}`)].join("\n");
}
