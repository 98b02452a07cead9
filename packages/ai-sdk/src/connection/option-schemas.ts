import * as z from "zod/mini";
import { McpSessionError } from "@durable-mcp/core";
import { isRecord, maxTimerMs } from "@durable-mcp/core/internal";

// The parts of the definitions' schemas.

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const positive = z.number().check(z.positive("must be a positive number of milliseconds"));
export const timeout = positive.check(
  z.int("must be a whole number of milliseconds"),
  z.maximum(maxTimerMs, `must be at most ${maxTimerMs} milliseconds`),
);
export const text = z.string().check(z.minLength(1, "must not be empty"));
export const names = z.array(text);
export const someFunction = z.custom(isFunction, "must be a function");
const someObject = z.custom(isRecord, "must be an object");

/** The fields of `ConnectionOptions`. */
export const connectionFields = {
  description: text,
  tools: z.optional(
    z.union(
      [z.strictObject({ allow: names }), z.strictObject({ block: names })],
      "must be { allow: string[] } or { block: string[] }",
    ),
  ),
  schemas: z.optional(someObject),
  capabilities: z.optional(someObject),
  onElicitation: z.optional(someFunction),
};

/** The fields of `ConnectionTimeouts`, and `connectMs`, which each transport explains for itself. */
export const timeoutFields = {
  connectMs: z.optional(timeout),
  callMs: z.optional(timeout),
  startMs: z.optional(timeout),
};

/** The fields of `SessionReplacementOptions`. */
export const replacementFields = {
  resend: z.optional(z.literal(["safe", "always", "never"])),
  safeTools: z.optional(names),
  trustAnnotations: z.optional(z.boolean()),
  recover: z.optional(z.boolean()),
  onStart: z.optional(someFunction),
  lossNotice: z.optional(z.union([text, z.literal(false)])),
};

/**
 * Checks the options of a definition.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function checkOptions(schema: z.ZodMiniType, options: unknown): void {
  const parsed = z.safeParse(schema, options);
  if (parsed.success) return;
  const issue = parsed.error.issues[0];
  const unknownKey = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknownKey === undefined ? [] : [unknownKey])];
  const field = path.join(".") || "options";
  // The issue of a key only tells that it is invalid. The inner issue tells why.
  const reason = issue?.code === "invalid_key" ? issue.issues[0]?.message : issue?.message;
  const fix = unknownKey === undefined ? (reason ?? "is invalid") : "is not a known option";
  throw new McpSessionError("CONNECTION_INVALID", `Connection option ${field} ${fix}.`, {
    data: { field },
  });
}

/**
 * Whether `fetch` accepts the value in a header. Its error for other values repeats them, and they
 * may be secret.
 */
export function isHeaderValue(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const normalized = value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  return /^[\t\x20-\x7E\x80-\xFF]*$/.test(normalized);
}
