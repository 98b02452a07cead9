import { isRecord } from "../base/json-values.ts";
import { isSafeQuestion } from "./input-request.ts";
import type { Question } from "./waiting-life.ts";
import { areRequests, withoutPrototype } from "./waiting-record.ts";

/**
 * The questions in a server's result; `undefined` if it has none. A result that neither asks nor has a state would
 * only have the call sent again, and one that is malformed cannot be answered: both are for the client to refuse.
 */
export function questionOf(result: unknown): Question | undefined {
  if (!isRecord(result) || result["resultType"] !== "input_required") return undefined;
  // Some languages print what is not there as null.
  const inputRequests = result["inputRequests"] ?? {};
  const requestState = result["requestState"] ?? undefined;
  if (!areRequests(inputRequests) || !Object.values(inputRequests).every(isSafeQuestion))
    return undefined;
  const requests = withoutPrototype(inputRequests);
  if (typeof requestState === "string") return { requests, requestState };
  const asks = requestState === undefined && Object.keys(requests).length > 0;
  return asks ? { requests } : undefined;
}

/**
 * A server's complete result, with its `resultType`: one without is complete too, and clients refuse it.
 * `undefined` for a result of another kind.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype
 */
export function completeResult(result: unknown): Record<string, unknown> | undefined {
  if (!isRecord(result)) return undefined;
  const { resultType = "complete" } = result;
  return resultType === "complete" ? { ...result, resultType } : undefined;
}
