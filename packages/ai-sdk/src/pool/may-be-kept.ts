import { isStateful, sessionOptions } from "../connection/define-connection.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";

/** Whether a connection's client may outlive a run. It may not if a part of it belongs to the run. */
export function mayBeKept(definition: McpConnection): boolean {
  if (definition.type !== "mcp-client") return true;
  const { headers = {}, authProvider, fetch } = definition.options;
  // The session of `except` ends with the run.
  if (sessionOptions(definition).except !== undefined) return false;
  // Here `@ai-sdk/mcp` sets the headers itself, and keeps those of the first run.
  const isLeftToClient = !isStateful(definition) && authProvider !== undefined && !fetch;
  const isAsked = Object.values(headers).some((value) => typeof value === "function");
  return !(isLeftToClient && isAsked);
}
