import type { WaitingAnswer, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { scrubResult } from "../errors/scrub-secrets.ts";
import { providedTexts } from "./provided-arguments.ts";

/**
 * The server's answer to a call that has waited. As for any call, one that says that the tool failed does not repeat
 * what the application has supplied.
 *
 * @param input as the model gave it
 */
export function answerWithoutSecrets(
  { answer, request: { params } }: WaitingRecord,
  input: unknown,
): WaitingAnswer | undefined {
  const isFailed = answer?.error !== undefined || answer?.result["isError"] === true;
  return isFailed ? scrubResult(answer, providedTexts(params["arguments"], input)) : answer;
}
