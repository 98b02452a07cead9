import * as z from "zod/mini";
import { McpSessionError } from "@durable-mcp/core";
import {
  invalid,
  isRecord,
  maxTimerMs,
  nearestName,
  misspeltOption,
  type OptionCheck,
} from "@durable-mcp/core/internal";

// The parts of all schemas of options.

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  isFunction((value as { then?: unknown } | null | undefined)?.then);
const nonEmpty = z.minLength(1, "must not be empty");
export const text = z.string("must be a text").check(nonEmpty);
export const names = z.array(text, "must be a list of names");
export const flag = z.boolean("must be true or false");
export const someFunction = z.custom(isFunction, "must be a function");
/** `onEvent`: what listens to events. */
export const eventObserver = z.custom(
  // An array has such a function, too.
  (value) => isFunction(value) || (isRecord(value) && isFunction(value["every"])),
  "must be a function, or an object with the function every",
);
export const someObject = z.custom(isRecord, "must be an object");
/** A time that a timer takes. */
export const timeout = wholeNumber(1, maxTimerMs, "milliseconds");
/** An age, which no timer has to take. */
export const age = wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds");
export const onUnavailable = z.literal(["omit", "throw"], 'must be "omit" or "throw"');
/** Checked by the code that reads it, as a principal is by the code that makes keys of it. */
export const anything = z.unknown();
export const abortSignal = z.custom(
  (value) => isFunction((value as { addEventListener?: unknown } | null)?.addEventListener),
  "must be an AbortSignal",
);
/** When a function is stopped. */
export const endsAt = z.custom(
  (value) => Number(value instanceof Date || typeof value === "number" ? value : Number.NaN) > 0,
  "must be a date, or milliseconds since 1970-01-01 UTC",
);

const methods = ["get", "put", "delete", "touch", "list"];
export const someStore = z.custom(
  (value) => methods.every((name) => isFunction((value as Record<string, unknown> | null)?.[name])),
  "must be a SessionStore",
);

/** Kinds of options by name, for packages that have options of these kinds. */
const kinds = {
  ...{
    abortSignal,
    age,
    anything,
    endsAt,
    eventObserver,
    flag,
    names,
    onUnavailable,
    text,
    timeout,
  },
  ...{ function: someFunction, object: someObject, store: someStore },
};
/** A kind of option by its name, a whole number by its bounds, or a schema. */
type Kind = keyof typeof kinds | readonly [min: number, max: number] | z.core.$ZodType;
type Shape = Readonly<Record<string, Kind>>;

/** The schema of an option that a check of core is for. */
export function checkedBy(check: OptionCheck) {
  return z.unknown().check(({ value, issues }) => {
    try {
      check(value, "");
    } catch (error) {
      if (!McpSessionError.isInstance(error)) throw error;
      const { field = "" } = error.data;
      const message = error.message.slice(field.length, -1).trim();
      const path = field.split(/[.[\]]+/).filter((name) => name !== "");
      issues.push({ code: "custom", input: value, path, message });
    }
  });
}

const json = z.json();

/** Whether it is a value of JSON. */
export function isJson(value: unknown): boolean {
  try {
    // A circle is an error here, and would have no end there.
    return JSON.stringify(value) !== undefined && z.safeParse(json, value).success;
  } catch {
    return false;
  }
}

export function wholeNumber(min: number, max: number, unit?: string) {
  const of = unit === undefined ? "" : ` of ${unit}`;
  return z.custom<number>(
    (value) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max,
    `must be a whole number${of}, ${min} to ${max}`,
  );
}

function kindOf(kind: Kind): z.core.$ZodType {
  if (typeof kind === "string") return kinds[kind];
  return Array.isArray(kind) ? wholeNumber(kind[0], kind[1]) : (kind as z.core.$ZodType);
}

/**
 * The schema of an options object in which every option may be left out.
 *
 * @param required those that may not
 */
export function optionalOptions(shape: Shape, required: Shape = {}) {
  const entries = [
    ...Object.entries(shape).map(([name, kind]) => [name, z.optional(kindOf(kind))]),
    ...Object.entries(required).map(([name, kind]) => [name, kindOf(kind)]),
  ];
  return z.strictObject(Object.fromEntries(entries) as Record<string, z.ZodMiniType>);
}

interface CheckedAs {
  /** Stands before the option's name in the message. @default nothing */
  readonly subject?: string | undefined;
  /** What to do instead, by names of options that there are elsewhere. */
  readonly hints?: Readonly<Record<string, string>> | undefined;
}

/**
 * Checks options, which are data from outside.
 *
 * @returns the options themselves
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option, with its path, and how to fix it
 */
export function checkOptions<OPTIONS>(
  schema: z.ZodMiniType,
  options: OPTIONS,
  as: CheckedAs = {},
): OPTIONS {
  const parsed = z.safeParse(schema, options);
  if (parsed.success) return options;
  throw toError(schema, parsed.error.issues, as);
}

/**
 * Checks options that stand beside those of another package, which takes any. Of the others only a
 * misspelt one of ours is known to be wrong.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function checkOwnOptions(schema: z.ZodMiniType, options: object): void {
  const known = knownAt(schema, []);
  const entries = isRecord(options) ? Object.entries(options) : undefined;
  const isOwn = (name: string) => known.includes(name) || nearestName(name, known) !== undefined;
  checkOptions(schema, entries && Object.fromEntries(entries.filter(([name]) => isOwn(name))));
}

type Issue = z.core.$ZodIssue;

/** The issue to tell of. A misspelt option says more than the one that is missing in its place. */
function firstIssue(schema: z.ZodMiniType, issues: readonly Issue[], hints: object): Issue {
  const misspelt = issues.find((issue) => {
    if (issue.code !== "unrecognized_keys") return false;
    const [unknown = ""] = issue.keys;
    const known = knownAt(schema, issue.path);
    return Object.hasOwn(hints, unknown) || nearestName(unknown, known) !== undefined;
  });
  const first = misspelt ?? issues[0]!;
  if (first.code !== "invalid_union") return first;
  // Of a text or an object, the one that was meant is the object.
  const inside = first.errors.filter(([issue]) => issue!.path.length > 0);
  if (inside.length !== 1) return first;
  const within = inside[0]!.map((issue) => ({ ...issue, path: [...first.path, ...issue.path] }));
  return firstIssue(schema, within, hints);
}

function toError(schema: z.ZodMiniType, issues: readonly Issue[], as: CheckedAs) {
  const { subject, hints = {} } = as;
  const issue = firstIssue(schema, issues, hints);
  const start = subject === undefined ? "" : `${subject} `;
  if (issue.code === "unrecognized_keys") {
    const [unknown = ""] = issue.keys;
    const field = [...issue.path, unknown].join(".");
    if (Object.hasOwn(hints, field)) return invalid(field, `${start}${field} ${hints[field]}.`);
    const { message } = misspeltOption(field, knownAt(schema, issue.path));
    return invalid(field, `${start}${message}`);
  }
  const field = issue.path.join(".") || "options";
  // The issue of a key only tells that it is invalid. The inner issue tells why.
  const reason = issue.code === "invalid_key" ? issue.issues[0]?.message : issue.message;
  const isUnsaid = reason === undefined || reason.startsWith("Invalid input");
  return invalid(field, `${start}${field} ${isUnsaid ? "must be an object" : reason}.`);
}

type Definition = Partial<{
  shape: Record<string, z.ZodMiniType>;
  innerType: z.ZodMiniType;
  options: readonly z.ZodMiniType[];
}>;

/** The names of the options under a path. */
function knownAt(schema: z.ZodMiniType, path: readonly PropertyKey[]): string[] {
  const { shape, innerType, options } = schema.def as Definition;
  if (innerType) return knownAt(innerType, path);
  if (options) return options.flatMap((option) => knownAt(option, path));
  if (shape === undefined) return [];
  const [next, ...rest] = path;
  if (next === undefined) return Object.keys(shape);
  const inner = shape[String(next)];
  return inner === undefined ? [] : knownAt(inner, rest);
}
