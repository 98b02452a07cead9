/** The options of what is done with sessions outside of their steps. */

import { optionalOptions } from "../base/check-options.ts";
import { answerFields } from "../waiting/run-waiting.ts";

export const principalSchema = optionalOptions({ principal: "anything" });
export const carriedCheckSchema = optionalOptions({
  ...{ principal: "anything", onSession: "function", abortSignal: "abortSignal" },
});
export const carriedAnswerSchema = optionalOptions({
  ...{ principal: "anything", onSession: "function" },
  ...answerFields,
});

/** Which sessions of a principal. */
const selectionFields = { principal: "anything", connection: "text", name: "text" } as const;
export const selectionSchema = optionalOptions(selectionFields);
export const selectionInTimeSchema = optionalOptions({ ...selectionFields, timeoutMs: "ms" });

export const lookSchema = optionalOptions({ abortSignal: "abortSignal" });
export const checkSchema = optionalOptions({ principal: "anything", abortSignal: "abortSignal" });
export const answerUseSchema = optionalOptions({ principal: "anything", ...answerFields });
const pageFields = { name: "text", cursor: "text", limit: [1, 1_000] } as const;
export const listSchema = optionalOptions({
  ...{ ...selectionFields, ...pageFields, shared: "flag" },
  sessionId: "anything",
});
export const operatorSchema = optionalOptions({
  ...{ ...selectionFields, timeoutMs: "ms", authorize: "function", by: "text" },
});
const { cursor: _, ...sweepFields } = pageFields;
export const dueSchema = optionalOptions({ limit: pageFields.limit });
export const openCallsSchema = optionalOptions({
  ...{ sessionId: "text", principal: "anything", cursor: "text", limit: pageFields.limit },
});
const operatorFields = { by: "text" } as const;
export const operatedSchema = optionalOptions({}, operatorFields);
export const operatedAnswerSchema = optionalOptions(answerFields, operatorFields);
export const sweepSchema = optionalOptions({
  ...{ ...sweepFields, shared: "flag", authorize: "function" },
  idleForMs: "age",
});
