import type { JsonRpcRequest, SessionSnapshot } from "@durable-mcp/core";
import type { StatefulSessionOptions } from "./define-connection.ts";

/** Whether the application allows that this tool call runs twice. */
export function mayRunTwice(
  { method, params }: JsonRpcRequest,
  {
    safeTools = [],
    trustAnnotations = false,
  }: Pick<StatefulSessionOptions, "safeTools" | "trustAnnotations">,
  snapshot: SessionSnapshot | undefined,
): boolean {
  const name = params?.["name"];
  if (method !== "tools/call" || typeof name !== "string") return false;
  if (safeTools.includes(name)) return true;
  if (!trustAnnotations || snapshot?.kind !== "session") return false;
  const annotations = snapshot.toolList?.tools.find((tool) => tool.name === name)?.["annotations"];
  const { readOnlyHint, idempotentHint } = (annotations ?? {}) as Record<string, unknown>;
  return readOnlyHint === true || idempotentHint === true;
}
