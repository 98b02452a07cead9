/** The options of what is done with sessions outside of their steps. */

import * as z from "zod/mini";
import {
  abortSignal,
  anything,
  flag,
  optionalOptions,
  someFunction,
  text,
  timeout,
  wholeNumber,
} from "../base/check-options.ts";
import { answerFields } from "../waiting/run-waiting.ts";

export const principalSchema = optionalOptions({ principal: anything });
export const carriedCheckSchema = optionalOptions({
  ...{ principal: anything, onSession: someFunction, abortSignal },
});
export const carriedAnswerSchema = optionalOptions({
  ...{ principal: anything, onSession: someFunction },
  ...answerFields,
});

/** Which sessions of a principal. */
const selectionFields = { principal: anything, connection: text, name: text };
export const selectionSchema = optionalOptions(selectionFields);
export const selectionInTimeSchema = optionalOptions({ ...selectionFields, timeoutMs: timeout });

export const lookSchema = optionalOptions({ abortSignal });
export const checkSchema = optionalOptions({ principal: anything, abortSignal });
export const answerUseSchema = optionalOptions({ principal: anything, ...answerFields });
const pageFields = { name: text, cursor: text, limit: wholeNumber(1, 1_000) };
export const listSchema = optionalOptions({
  ...{ ...selectionFields, ...pageFields, shared: flag },
  sessionId: anything,
});
export const operatorSchema = optionalOptions({
  ...{ ...selectionFields, timeoutMs: timeout, authorize: someFunction },
});
const { cursor: _, ...sweepFields } = pageFields;
export const dueSchema = optionalOptions({ limit: pageFields.limit });
export const openCallsSchema = optionalOptions({
  ...{ sessionId: text, principal: anything, cursor: text, limit: pageFields.limit },
});
const operatorFields = { by: text };
export const operatedSchema = z.strictObject(operatorFields);
export const operatedAnswerSchema = z.extend(optionalOptions(answerFields), operatorFields);
export const sweepSchema = optionalOptions({
  ...{ ...sweepFields, shared: flag, authorize: someFunction },
  idleForMs: wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds"),
});
