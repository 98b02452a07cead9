import { maxTimerMs } from "./bounded-wait.ts";
import { isRecord } from "./json-values.ts";
import { McpSessionError } from "./mcp-session-error.ts";

/** @param fix completes the sentence that the field begins: `"must be a URL"` */
export function invalidOption(field: string, fix: string): McpSessionError {
  return invalid(field, `${field} ${fix}.`);
}

/** The error for an unusable argument or option, with a message of its own. */
export function invalid(field: string, message: string): McpSessionError {
  return new McpSessionError("CONNECTION_INVALID", message, { data: { field } });
}

/**
 * The error for an option that nobody knows.
 *
 * @param field the option, with its path
 * @param known the names that would have been right in its place
 * @param meant the known name that was probably meant
 */
export function unknownOption(
  field: string,
  known: readonly string[],
  meant?: string,
): McpSessionError {
  const fix = meant === undefined ? `Known: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  return invalid(field, `${field} is not a known option. ${fix}`);
}

/** @throws {McpSessionError} `CONNECTION_INVALID` unless `value` is a whole number in these bounds */
export function checkWhole(
  value: unknown,
  field: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): void {
  if (isWhole(value, min, max)) return;
  throw invalidOption(field, `must be a whole number from ${min} to ${max}`);
}

/**
 * @throws {McpSessionError} `CONNECTION_INVALID` for a time that no timer takes; `undefined` passes
 */
export function checkMs(value: unknown, field: string): void {
  if (value === undefined || isTimerMs(value)) return;
  throw invalidOption(field, `must be a whole number of milliseconds, 1 to ${maxTimerMs}`);
}

/** Whether a timer takes this value from outside, in milliseconds. */
export function isTimerMs(value: unknown): value is number {
  return isWhole(value, 1, maxTimerMs);
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` unless `value` is a function; `undefined` passes */
export function checkFunction(value: unknown, field: string): void {
  if (value === undefined || typeof value === "function") return;
  throw invalidOption(field, "must be a function");
}

/**
 * @param what completes the sentence that the field begins with "must be"
 * @throws {McpSessionError} `CONNECTION_INVALID` unless `value` has these methods
 */
export function checkMethods(
  value: unknown,
  field: string,
  methods: readonly string[],
  what: string,
): void {
  const object = (value ?? {}) as Record<string, unknown>;
  if (methods.every((name) => typeof object[name] === "function")) return;
  throw invalidOption(field, `must be ${what}`);
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for an option that is no store */
export const checkStore: OptionCheck = (value, field) =>
  checkMethods(value, field, ["get", "put", "touch", "delete", "list"], "a SessionStore");

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkText(value: unknown, field: string): asserts value is string {
  if (typeof value === "string" && value !== "") return;
  throw invalidOption(field, "must be a non-empty string");
}

/** Throws `CONNECTION_INVALID`, naming the field, for a value that an option does not take. */
export type OptionCheck = (value: unknown, field: string) => void;

/** A check for each option, so that none is forgotten. */
export type OptionChecks<OPTIONS> = {
  readonly [NAME in keyof Required<OPTIONS>]: OptionCheck;
};

/**
 * Checks options, which are data from outside. An option that is `undefined` is not given.
 *
 * @param path of the options in those around them
 * @throws {McpSessionError} `CONNECTION_INVALID`, for an unknown option too
 */
export function checkOptions<OPTIONS extends object>(
  options: OPTIONS,
  checks: OptionChecks<OPTIONS>,
  path = "",
): void {
  if (!isRecord(options)) throw invalidOption(path || "options", "must be an object");
  for (const [name, value] of Object.entries(options)) {
    const field = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(checks, name)) throw unknownOption(field, Object.keys(checks));
    if (value !== undefined) checks[name as keyof OPTIONS](value, field);
  }
}

/** @param what completes the sentence that the field begins with "must be" */
export const mustBe =
  /* @__NO_SIDE_EFFECTS__ */
  (what: string, isRight: (value: unknown) => boolean): OptionCheck =>
    (value, field) => {
      if (!isRight(value)) throw invalidOption(field, `must be ${what}`);
    };

export const flag = mustBe("true or false", (value) => typeof value === "boolean");
export const oneOf = /* @__NO_SIDE_EFFECTS__ */ (...values: unknown[]): OptionCheck =>
  mustBe(values.map((value) => JSON.stringify(value)).join(" or "), (value) =>
    values.includes(value),
  );
/** A number from `min` on, which no timer has to take. */
export const wholeFrom =
  /* @__NO_SIDE_EFFECTS__ */
  (min: number): OptionCheck =>
    (value, field) =>
      checkWhole(value, field, min);
export const group =
  <OPTIONS extends object>(checks: OptionChecks<OPTIONS>): OptionCheck =>
  (value, field) =>
    checkOptions(value as OPTIONS, checks, field);
/** The code that reads the option checks it. */
export const checkedLater: OptionCheck = () => undefined;

/**
 * The clock of an option, in whole milliseconds. Its times are checked, because nothing ever expires with a
 * time that is no number.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, also when the clock is read
 */
export function checkedClock(now: () => number = Date.now): () => number {
  if (typeof now !== "function") throw invalidClock();
  return () => {
    const time = Math.floor(now());
    if (Number.isSafeInteger(time) && time >= 0) return time;
    throw invalidClock();
  };
}

function invalidClock() {
  return invalidOption("now", "must be a function that returns milliseconds since 1970-01-01 UTC");
}
