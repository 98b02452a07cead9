import leven from "leven";
import {
  checkedLater,
  checkMethods,
  checkMs,
  checkStore,
  checkText,
  checkWhole,
  flag,
  invalidOption,
  mustBe,
  type OptionCheck,
  oneOf,
  unknownOption,
} from "./check-option.ts";
import { isPlainRecord, isRecord } from "./json-values.ts";

const isFunction = (value: unknown) => typeof value === "function";

/** A kind of option by its name. */
type KindName = keyof typeof named | "names";

const named = {
  ...{ anything: checkedLater, flag, store: checkStore, text: checkText },
  function: mustBe("a function", isFunction),
  object: mustBe("an object", isRecord),
  /** A time that a timer takes. */
  ms: (value: unknown, field: string) => checkMs(value ?? null, field),
  /** A time that no timer has to take. */
  age: mustBe(
    "a whole number of milliseconds from 1",
    (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  ),
  date: mustBe(
    "a date, or milliseconds since 1970-01-01 UTC",
    (value) => Number(value instanceof Date || typeof value === "number" ? value : Number.NaN) > 0,
  ),
  abortSignal: mustBe("an AbortSignal", (value) =>
    isFunction((value as Partial<AbortSignal> | null)?.addEventListener),
  ),
  // An array has such a function, too.
  observer: mustBe(
    "a function, or an object with the function every",
    (value) => isFunction(value) || (isRecord(value) && isFunction(value["every"])),
  ),
};
const listOfNames = { list: "text", is: "a list of names" } as const;

/** What an option takes that is an object of options. */
export interface OptionGroup {
  readonly options: Readonly<Record<string, OptionKind>>;
  /** Options that have to be given. @default none */
  readonly required?: readonly string[];
  /** Whether it may have other fields too. @default false */
  readonly isOpen?: boolean;
}

/**
 * What an option takes: a kind by its name, `ms` for what a timer takes; a whole number by its bounds; one of some
 * values; an object by its methods, its options or, with any names, the kind of its values; a list by the kind of its
 * items; one of two kinds; what passes a test; or what a check of its own says. `is` completes the sentence that the option begins
 * with "must be", and `fix` the one that the option begins, as does `refused`, for what is an option elsewhere.
 */
export type OptionKind =
  | KindName
  | readonly [min: number, max?: number]
  | OptionCheck
  | OptionGroup
  | { readonly oneOf: readonly unknown[] }
  | { readonly methods: readonly string[]; readonly is: string }
  | { readonly record: OptionKind; readonly name?: OptionKind }
  | { readonly list: OptionKind; readonly is: string }
  | { readonly either: readonly OptionKind[]; readonly is: string }
  | { readonly test: (value: any) => boolean; readonly fix: string }
  | Refused;

interface Refused {
  readonly refused: string;
}

/** A kind for each option, so that none is forgotten. */
export type OptionKinds<OPTIONS> = { readonly [NAME in keyof Required<OPTIONS>]: OptionKind };

/**
 * Checks options, which are data from outside. An option that is `undefined` is not given.
 *
 * @param use.path of the options in those around them
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option, for an unknown one too
 */
export function checkKnown<OPTIONS extends object>(
  options: OPTIONS,
  kinds: OptionKinds<OPTIONS>,
  use: {
    readonly required?: readonly (keyof OPTIONS & string)[];
    readonly isOpen?: boolean | undefined;
    readonly path?: string | undefined;
  } = {},
): void {
  const { path, required = [], isOpen = false } = use;
  if (!isRecord(options)) throw invalidOption(path ?? "options", "must be an object");
  const known: Readonly<Record<string, OptionKind>> = kinds;
  const fieldOf = (name: string) => (path === undefined ? name : `${path}.${name}`);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined && !isOpen) throw misspeltOption(fieldOf(unknown), known);
  for (const [name, kind] of Object.entries(known)) {
    const value = options[name];
    const isNeeded = (required as readonly string[]).includes(name);
    if (value !== undefined || isNeeded) checkKind(value, fieldOf(name), kind);
  }
}

function checkKind(value: unknown, field: string, kind: OptionKind): void {
  if (typeof kind === "function") kind(value, field);
  else if (kind === "names") checkKind(value, field, listOfNames);
  else if (typeof kind === "string") named[kind](value, field);
  else if (Array.isArray(kind)) checkWhole(value, field, ...(kind as [number, number?]));
  else if ("options" in kind)
    checkKnown(value as Record<string, unknown>, kind.options, { ...kind, path: field });
  else if ("oneOf" in kind) oneOf(...kind.oneOf)(value, field);
  else if ("methods" in kind) checkMethods(value, field, kind.methods, kind.is);
  else if ("record" in kind) {
    if (!isPlainRecord(value)) throw invalidOption(field, "must be a plain object");
    for (const [name, each] of Object.entries(value)) {
      if (kind.name !== undefined) checkKind(name, `${field}.${name}`, kind.name);
      checkKind(each, `${field}.${name}`, kind.record);
    }
  } else if ("list" in kind) {
    if (!Array.isArray(value)) throw invalidOption(field, `must be ${kind.is}`);
    for (const [index, each] of value.entries()) checkKind(each, `${field}[${index}]`, kind.list);
  } else if ("either" in kind) {
    // Of a text or an object, the one that was meant is the object.
    const around = kind.either.filter((each) => isAround(each, value));
    const meant = around.length === 1 ? around[0] : around.find((each) => hasAll(each, value));
    if (meant !== undefined) checkKind(value, field, meant);
    else if (!kind.either.some((each) => passes(value, each)))
      throw invalidOption(field, `must be ${kind.is}`);
  } else if (!("test" in kind) || !kind.test(value))
    throw invalidOption(field, "test" in kind ? kind.fix : (kind as Refused).refused);
}

/** Whether a kind says what is in such a value. */
function isAround(kind: OptionKind, value: unknown): boolean {
  if (kind === "names") return Array.isArray(value);
  if (typeof kind !== "object") return false;
  if (Array.isArray(value)) return "list" in kind;
  return isRecord(value) && ("options" in kind || "record" in kind);
}

/** Whether these options have each field of the value. */
function hasAll(kind: OptionKind, value: unknown): boolean {
  const { options = {} } = kind as Partial<OptionGroup>;
  return Object.keys(value as object).every((name) => Object.hasOwn(options, name));
}

function passes(value: unknown, kind: OptionKind): boolean {
  try {
    checkKind(value, "", kind);
    return true;
  } catch {
    return false;
  }
}

/** The error for an option that nobody knows, with the name that was probably meant. */
function misspeltOption(field: string, known: Readonly<Record<string, OptionKind>>) {
  const names = Object.keys(known);
  const meant = nearestName(field.slice(field.lastIndexOf(".") + 1), names);
  const isTaken = (name: string) => !(isRecord(known[name]) && "refused" in known[name]);
  return unknownOption(field, names.filter(isTaken), meant);
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
