import * as z from "zod/mini";
import {
  abortSignal,
  anything,
  names,
  onUnavailable,
  optionalOptions,
  someFunction,
  text,
  timeout,
} from "../base/check-options.ts";

// The options of a registry's functions, and of runs.

export const toolsSchema = optionalOptions({ connections: names, onUnavailable });
export const runSchema = optionalOptions({ onClose: someFunction });
export const readySchema = optionalOptions({ timeoutMs: timeout, abortSignal });
export const statusSchema = optionalOptions({ connection: text, timeoutMs: timeout });
export const restartSchema = optionalOptions({ timeoutMs: timeout });
export const namedCreateSchema = optionalOptions({ connections: names, idleTimeoutMs: timeout });
export const namedRunSchema = optionalOptions({ abortSignal });
export const nestSchema = optionalOptions({ principal: anything, abortSignal });
export const autoSessionFields = {
  principal: z.optional(anything),
  idleTimeoutMs: z.optional(timeout),
};
export const autoSessionSchema = z.strictObject({
  ...autoSessionFields,
  sessionId: z.optional(
    z.custom(
      () => false,
      "needs a store in which a later process finds the session: give autoSession to createDurableSessions",
    ),
  ),
});
