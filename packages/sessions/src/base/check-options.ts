import {
  checkKnown,
  isPlainRecord,
  isRecord,
  nearestName,
  type OptionGroup,
  type OptionKind,
} from "@durable-mcp/core/internal";

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  isFunction((value as { then?: unknown } | null | undefined)?.then);
export const onUnavailable = { oneOf: ["omit", "throw"] } as const;

/** Whether it is a value of JSON. */
export function isJson(value: unknown): boolean {
  try {
    // A circle is an error here, and would have no end there.
    return JSON.stringify(value) !== undefined && isOfJson(value);
  } catch {
    return false;
  }
}

function isOfJson(value: unknown): boolean {
  if (Array.isArray(value)) return Array.from(value).every(isOfJson);
  if (isRecord(value)) return isPlainRecord(value) && Object.values(value).every(isOfJson);
  return value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
}

/** Options, with what each takes. */
export type OptionFields = Readonly<Record<string, OptionKind>>;

/**
 * The options of an object in which every option may be left out.
 *
 * @param required those that may not
 */
export function optionalOptions(fields: OptionFields, required: OptionFields = {}) {
  return { options: { ...fields, ...required }, required: Object.keys(required) };
}

/**
 * Checks options, which are data from outside.
 *
 * @returns the options themselves
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option, with its path, and how to fix it
 */
export function checkOptions<OPTIONS>(group: OptionGroup, options: OPTIONS): OPTIONS {
  checkKnown<Record<string, unknown>>(options as Record<string, unknown>, group.options, group);
  return options;
}

/**
 * Checks options that stand beside those of another package, which takes any. Of the others only a
 * misspelt one of ours is known to be wrong.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function checkOwnOptions(group: OptionGroup, options: object): void {
  const known = Object.keys(group.options);
  const isOwn = (name: string) => known.includes(name) || nearestName(name, known) !== undefined;
  const own = isRecord(options) && Object.entries(options).filter(([name]) => isOwn(name));
  checkOptions(group, own ? Object.fromEntries(own) : options);
}
