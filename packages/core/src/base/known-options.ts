import leven from "leven";
import {
  checkedLater,
  checkFunction,
  checkMethods,
  checkMs,
  checkStore,
  checkText,
  checkWhole,
  flag,
  invalidOption,
  type OptionCheck,
  unknownOption,
} from "./check-option.ts";
import { isRecord } from "./json-values.ts";

/** Kinds of options by name. */
const checks = {
  ...{ anything: checkedLater, flag, function: checkFunction, ms: checkMs },
  ...{ store: checkStore, text: checkText },
};

/** An object with methods. */
interface WithMethods {
  readonly methods: readonly string[];
  /** Completes the sentence that the option begins with "must be". */
  readonly is: string;
}

/**
 * What an option takes: a kind by its name, `ms` for what a timer takes, a whole number by its bounds, an object by its
 * methods, or what a check of its own says.
 */
type OptionKind =
  | keyof typeof checks
  | readonly [min: number, max?: number]
  | WithMethods
  | OptionCheck;

/** A kind for each option, so that none is forgotten. */
export type OptionKinds<OPTIONS> = { readonly [NAME in keyof Required<OPTIONS>]: OptionKind };

/**
 * Checks options, which are data from outside, for code that runs where the schemas of options do not. An option that is
 * `undefined` is not given.
 *
 * @param use.required options that have to be given
 * @param use.path of the options in those around them
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option, for an unknown one too
 */
export function checkKnown<OPTIONS extends object>(
  options: OPTIONS,
  kinds: OptionKinds<OPTIONS>,
  {
    required = [],
    path,
  }: {
    readonly required?: readonly (keyof OPTIONS & string)[];
    readonly path?: string | undefined;
  } = {},
): void {
  if (!isRecord(options)) throw invalidOption(path ?? "options", "must be an object");
  const known: Readonly<Record<string, OptionKind>> = kinds;
  const fieldOf = (name: string) => (path === undefined ? name : `${path}.${name}`);
  const given = Object.keys(options);
  const unknown = given.find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined) throw misspeltOption(fieldOf(unknown), Object.keys(known));
  for (const name of new Set([...required, ...given])) {
    const value = options[name];
    const isNeeded = (required as readonly string[]).includes(name);
    if (value !== undefined || isNeeded) checkKind(value, fieldOf(name), known[name]!);
  }
}

function checkKind(value: unknown, field: string, kind: OptionKind): void {
  if (typeof kind === "function") kind(value, field);
  else if (Array.isArray(kind)) checkWhole(value, field, ...(kind as [number, number?]));
  else if (typeof kind === "string") checks[kind](value, field);
  else {
    const { methods, is } = kind as WithMethods;
    checkMethods(value, field, methods, is);
  }
}

/** The error for an option that nobody knows, with the name that was probably meant. */
export function misspeltOption(field: string, known: readonly string[]) {
  return unknownOption(field, known, nearestName(field.slice(field.lastIndexOf(".") + 1), known));
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
