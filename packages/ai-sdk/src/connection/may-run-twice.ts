import type { JsonRpcRequest, SessionSnapshot } from "@durable-mcp/core";
import { isOutdated } from "@durable-mcp/core/internal";
import type { StatefulSessionOptions } from "./connection-options.ts";

type SafeOptions = Pick<StatefulSessionOptions, "safeTools" | "trustAnnotations">;

/** Whether the application allows that calls of this tool run twice. */
export function toolMayRunTwice(
  tool: { readonly name: string; readonly annotations?: unknown },
  { safeTools = [], trustAnnotations = false }: SafeOptions,
): boolean {
  if (safeTools.includes(tool.name)) return true;
  if (!trustAnnotations) return false;
  const { readOnlyHint, idempotentHint } = (tool.annotations ?? {}) as Record<string, unknown>;
  return readOnlyHint === true || idempotentHint === true;
}

/** Whether the application allows that this tool call runs twice. */
export function mayRunTwice(
  { method, params }: JsonRpcRequest,
  options: SafeOptions,
  snapshot: SessionSnapshot | undefined,
): boolean {
  const name = params?.["name"];
  if (method !== "tools/call" || typeof name !== "string") return false;
  const list = snapshot && "toolList" in snapshot ? snapshot.toolList : undefined;
  const tools = list && !isOutdated(list) ? list.tools : [];
  return toolMayRunTwice(tools.find((tool) => tool.name === name) ?? { name }, options);
}
