import * as z from "zod/mini";
import {
  abortSignal,
  anything,
  flag,
  isFunction,
  onUnavailable,
  optionalOptions,
  someFunction,
  someObject,
  text,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";
import { autoSessionFields } from "../run/run-options.ts";
import { answerFields } from "../waiting/run-waiting.ts";
import { ownProviderFields, selectionFields } from "./provider-option-schemas.ts";

// The options of durable sessions, and of their functions.

const methods = ["get", "put", "delete", "touch", "list"];
export const someStore = z.custom(
  (value) => methods.every((name) => isFunction((value as Record<string, unknown> | null)?.[name])),
  "must be a SessionStore",
);

/** Options of `createDurableSessions` that a durable agent takes, too. */
export const storedSessionsFields = {
  agent: text,
  share: flag,
  touchIntervalMs: timeout,
  clockSkewMs: wholeNumber(0, Number.MAX_SAFE_INTEGER, "milliseconds"),
  storeTimeoutMs: timeout,
};
export const durableSessionsSchema = z.strictObject({
  ...optionalOptions({ ...storedSessionsFields, ...ownProviderFields, provider: someObject }).shape,
  store: someStore,
  autoSession: z.optional(z.strictObject({ ...autoSessionFields, sessionId: text })),
});

export const useSchema = optionalOptions({ principal: anything, abortSignal, onUnavailable });
export const waitingUseSchema = optionalOptions({ principal: anything });
export const answerUseSchema = optionalOptions({ principal: anything, ...answerFields });
const pageFields = { name: text, cursor: text, limit: wholeNumber(1, 1_000) };
export const listSchema = optionalOptions({
  ...{ ...selectionFields, ...pageFields, shared: flag },
  sessionId: anything,
});
export const endAllSchema = optionalOptions({ principal: anything });
export const adminListSchema = optionalOptions(pageFields);
const { cursor: _, ...sweepFields } = pageFields;
export const sweepSchema = z.strictObject({
  ...optionalOptions({ ...sweepFields, shared: flag, authorize: someFunction }).shape,
  idleForMs: wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds"),
});
