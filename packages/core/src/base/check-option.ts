import { maxTimerMs } from "./bounded-wait.ts";
import { McpSessionError } from "./mcp-session-error.ts";

/** @param fix completes the sentence that the field begins: `"must be a URL"` */
export function invalidOption(field: string, fix: string): McpSessionError {
  return invalid(field, `${field} ${fix}.`);
}

/** The error for an unusable argument or option, with a message of its own. */
export function invalid(field: string, message: string): McpSessionError {
  return new McpSessionError("CONNECTION_INVALID", message, { data: { field } });
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

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkText(value: unknown, field: string): asserts value is string {
  if (typeof value === "string" && value !== "") return;
  throw invalidOption(field, "must be a non-empty string");
}
