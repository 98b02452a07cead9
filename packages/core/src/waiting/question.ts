import { isRecord } from "../base/json-values.ts";
import type { InputRequest } from "./input-request.ts";
import type { Question } from "./waiting-life.ts";
import { withoutPrototype } from "./waiting-record.ts";

/** How a result begins that may have questions, in its JSON. */
export const questionMark = '"input_required"';

/** The questions in a server's result; `undefined` if it has none. */
export function questionOf(result: unknown): Question | undefined {
  if (!isRecord(result) || result["resultType"] !== "input_required") return undefined;
  const { inputRequests, requestState } = result;
  const requests = isRecord(inputRequests) ? withoutPrototype(inputRequests) : {};
  return {
    requests: requests as Record<string, InputRequest>,
    ...(typeof requestState === "string" && { requestState }),
  };
}
