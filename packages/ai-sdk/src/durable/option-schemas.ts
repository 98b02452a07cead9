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
import { answerFields, autoSessionFields } from "../registry/option-schemas.ts";
import { ownProviderFields, selectionFields } from "../provider/option-schemas.ts";
import { custom, optional, optionalFields, strictObject } from "../base/option-schema.ts";

// The options of durable sessions, and of their functions.

const methods = ["get", "put", "delete", "touch", "list"];
export const someStore = custom(
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
export const durableSessionsSchema = strictObject({
  ...optionalFields({ ...storedSessionsFields, ...ownProviderFields, provider: someObject }),
  store: someStore,
  autoSession: optional(strictObject({ ...autoSessionFields, sessionId: text })),
});

export const useSchema = optionalOptions({ principal: anything, abortSignal, onUnavailable });
export const waitingUseSchema = optionalOptions({ principal: anything });
export const answerUseSchema = optionalOptions({ principal: anything, ...answerFields });
const pageFields = { name: text, cursor: text, limit: wholeNumber(1, 1_000) };
export const listSchema = optionalOptions({ principal: anything, ...pageFields });
const { name: _name, ...sharedFields } = selectionFields;
export const sharedSelectionSchema = optionalOptions(sharedFields);
export const sharedInTimeSchema = optionalOptions({ ...sharedFields, timeoutMs: timeout });
export const endAllSchema = optionalOptions({ principal: anything });
const { name: _page, ...sharedPageFields } = pageFields;
export const sharedListSchema = optionalOptions({ principal: anything, ...sharedPageFields });
export const adminListSchema = optionalOptions(pageFields);
const { cursor: _, ...sweepFields } = pageFields;
export const sweepSchema = strictObject({
  ...optionalFields({ ...sweepFields, shared: flag, authorize: someFunction }),
  idleForMs: wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds"),
});
