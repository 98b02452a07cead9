import {
  invalid,
  isRecord,
  maxTimerMs,
  nearestName,
  misspeltOption,
} from "@durable-mcp/core/internal";
import {
  all,
  array,
  custom,
  type Fields,
  type Issue,
  literal,
  isPlain,
  optionalFields,
  pattern,
  type Schema,
  strictObject,
  string,
} from "./option-schema.ts";

// The parts of all schemas of options.

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  isFunction((value as { then?: unknown } | null | undefined)?.then);
export const text = all(string("must be a text"), pattern(/[^]/, "must not be empty"));
export const names = array(text, "must be a list of names");
export const flag = custom((value) => typeof value === "boolean", "must be true or false");
export const someFunction = custom(isFunction, "must be a function");
export const someObject = custom(isRecord, "must be an object");
/** A time that a timer takes. */
export const timeout = wholeNumber(1, maxTimerMs, "milliseconds");
/** An age, which no timer has to take. */
export const age = wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds");
export const onUnavailable = literal(["omit", "throw"], 'must be "omit" or "throw"');
/** Checked by the code that reads it, as a principal is by the code that makes keys of it. */
export const anything = custom(() => true, "");
export const abortSignal = custom(
  (value) => isFunction((value as { addEventListener?: unknown } | null)?.addEventListener),
  "must be an AbortSignal",
);

/** Whether it is a value of JSON. */
export function isJson(value: unknown): boolean {
  try {
    // A circle is an error here, and would have no end there.
    return JSON.stringify(value) !== undefined && hasJsonOnly(value);
  } catch {
    return false;
  }
}

function hasJsonOnly(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true;
  if (Array.isArray(value)) return value.every(hasJsonOnly);
  // What has a class prints as something else.
  return isPlain(value) && Object.values(value).every(hasJsonOnly);
}

export function wholeNumber(min: number, max: number, unit?: string): Schema {
  const of = unit === undefined ? "" : ` of ${unit}`;
  return custom(
    (value) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max,
    `must be a whole number${of}, ${min} to ${max}`,
  );
}

/** The schema of an options object in which every option may be left out. */
export function optionalOptions(fields: Fields): Schema {
  return strictObject(optionalFields(fields));
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
  schema: Schema,
  options: OPTIONS,
  { subject, hints = {} }: CheckedAs = {},
): OPTIONS {
  const issues = schema.issuesOf(options);
  if (issues.length === 0) return options;
  const { path, reason, unknown } = firstIssue(schema, issues, hints);
  const start = subject === undefined ? "" : `${subject} `;
  const field = [...path, ...(unknown === undefined ? [] : [unknown])].join(".") || "options";
  if (unknown === undefined) throw invalid(field, `${start}${field} ${reason}.`);
  if (Object.hasOwn(hints, field)) throw invalid(field, `${start}${field} ${hints[field]}.`);
  const { message } = misspeltOption(field, schema.knownAt(path));
  throw invalid(field, `${start}${message}`);
}

/**
 * Checks options that stand beside those of another package, which takes any. Of the others only a
 * misspelt one of ours is known to be wrong.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function checkOwnOptions(schema: Schema, options: object): void {
  const known = schema.knownAt([]);
  const entries = isRecord(options) ? Object.entries(options) : undefined;
  const isOwn = (name: string) => known.includes(name) || nearestName(name, known) !== undefined;
  checkOptions(schema, entries && Object.fromEntries(entries.filter(([name]) => isOwn(name))));
}

/** The issue to tell of. A misspelt option says more than the one that is missing in its place. */
function firstIssue(schema: Schema, issues: readonly Issue[], hints: object): Issue {
  const misspelt = issues.find(({ path, unknown }) => {
    if (unknown === undefined) return false;
    return (
      Object.hasOwn(hints, unknown) || nearestName(unknown, schema.knownAt(path)) !== undefined
    );
  });
  const first = misspelt ?? issues[0]!;
  const meant = meantOf(first.asEach ?? []);
  if (meant === undefined) return first;
  const within = meant.map((issue) => ({ ...issue, path: [...first.path, ...issue.path] }));
  return firstIssue(schema, within, hints);
}

/** What is wrong with a value as the kind that was meant: of a text or an object, an object with a wrong field. */
function meantOf(asEach: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const ofFields = asEach.filter((issues) => issues.every(isInside));
  const ofNames = asEach.filter((issues) =>
    issues.every((issue) => isInside(issue) || issue.unknown !== undefined),
  );
  return [ofFields, ofNames].find(({ length }) => length === 1)?.[0];
}

function isInside({ path }: Issue): boolean {
  return path.length > 0;
}
