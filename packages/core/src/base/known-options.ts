import leven from "leven";
import { invalidOption, unknownOption } from "./check-option.ts";
import { isRecord } from "./json-values.ts";

/** The error for an option that nobody knows, with the name that was probably meant. */
export function misspeltOption(field: string, known: readonly string[]) {
  return unknownOption(field, known, nearestName(field.slice(field.lastIndexOf(".") + 1), known));
}

/**
 * For code that runs where the schemas of options do not.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for options that are no object, and for unknown ones
 */
export function checkKnown(options: unknown, known: readonly string[]): void {
  if (!isRecord(options)) throw invalidOption("options", "must be an object");
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw misspeltOption(unknown, known);
}

/** The known name that a misspelt one probably stands for. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const ranked = known.map((candidate) => {
    const letters = leven(name.toLowerCase(), candidate.toLowerCase(), { maxDistance: 3 });
    return { candidate, letters, isNear: letters <= Math.min(2, candidate.length / 3) };
  });
  return ranked.filter(({ isNear }) => isNear).toSorted((a, b) => a.letters - b.letters)[0]
    ?.candidate;
}
