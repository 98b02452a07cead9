import * as z from "zod/mini";
import {
  abortSignal,
  anything,
  isFunction,
  onUnavailable,
  optionalOptions,
  eventObserver,
  someFunction,
  someObject,
  text,
  timeout,
} from "../base/check-options.ts";
import { poolSchema } from "../run/process-pool.ts";
import { autoSessionSchema } from "../run/run-options.ts";
import { answerFields } from "../waiting/run-waiting.ts";

// The options of a provider, and of its functions.

/** Options of a provider that durable sessions take, too. `connections` are checked by themselves. */
export const ownProviderFields = {
  connections: anything,
  pool: poolSchema,
  closeTimeoutMs: timeout,
  telemetry: z.custom(
    (value) => isFunction((value as { trace?: unknown } | null)?.trace),
    "must have a function trace, such as openTelemetry() has",
  ),
  onEvent: eventObserver,
  now: someFunction,
};
export const providerSchema = optionalOptions({
  ...ownProviderFields,
  autoSession: autoSessionSchema,
  claim: someFunction,
});

const stepFields = { principal: anything, sessionId: text, abortSignal };
export const createSchema = optionalOptions({ ...stepFields, state: anything });
export const runOnStateSchema = z.strictObject({
  ...optionalOptions({ ...stepFields, onUnavailable, onSession: someFunction }).shape,
  session: someObject,
});

export const carriedUseSchema = optionalOptions({ principal: anything });
export const carriedAnswerSchema = optionalOptions({
  ...{ principal: anything, onSession: someFunction },
  ...answerFields,
});

/** Which sessions of a principal. */
export const selectionFields = { principal: anything, connection: text, name: text };
export const selectionSchema = optionalOptions(selectionFields);
export const selectionInTimeSchema = optionalOptions({ ...selectionFields, timeoutMs: timeout });
export const shutdownSchema = optionalOptions({ timeoutMs: timeout });
