import { isRecord } from "../base/json-values.ts";

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
