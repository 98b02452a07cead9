import { isRecord, maxTimerMs } from "@durable-mcp/core/internal";
import * as z from "zod/mini";

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
