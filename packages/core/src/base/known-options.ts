import { invalidOption } from "./check-option.ts";
import { isRecord } from "./json-values.ts";

/**
 * @param field the option, with its path
 * @param known the names that would have been right in its place
 * @returns the error for an option that nobody knows
 */
export function unknownOption(field: string, known: readonly string[]) {
  const near = nearestName(field.slice(field.lastIndexOf(".") + 1), known);
  const fix = near === undefined ? `Known: ${known.join(", ")}` : `Did you mean ${near}?`;
  return invalidOption(field, `is not a known option. ${fix}`);
}

/**
 * For code that runs where the schemas of options do not.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for options that are no object, and for unknown ones
 */
export function checkKnown(options: unknown, known: readonly string[]): void {
  if (!isRecord(options)) throw invalidOption("options", "must be an object");
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownOption(unknown, known);
}

/** The known name that a misspelt one probably stands for. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const ranked = known.map((candidate) => {
    const letters = distance(name.toLowerCase(), candidate.toLowerCase());
    return { candidate, letters, isNear: letters <= Math.min(2, candidate.length / 3) };
  });
  return ranked.filter(({ isNear }) => isNear).toSorted((a, b) => a.letters - b.letters)[0]
    ?.candidate;
}

/** How many letters have to be added, removed or replaced to make one text of the other. */
function distance(a: string, b: string): number {
  // Longer texts are of no option, and would take long.
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let index = 0; index < a.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = row[column - 1]! + (b[column - 1] === a[index] ? 0 : 1);
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
