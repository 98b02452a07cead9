import { abortable, checkMs } from "@durable-mcp/core/internal";
import type { CallToolResult } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { type Execute, isToolError, withCallOptions } from "./connection-tools.ts";
import type { LiveConnection } from "../connection/live-connection.ts";

export interface CallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * In milliseconds, 1 to 2147483647; the call fails with `OUTCOME_UNKNOWN`. @default `timeouts.callMs`
   * of the connection
   */
  readonly timeoutMs?: number | undefined;
}

/** Calls a tool of a connection without a model. A loss notice waits for the model's next result. */
export async function callTool(
  connection: LiveConnection,
  tool: string,
  input: Readonly<Record<string, unknown>> = {},
  { abortSignal, timeoutMs }: CallOptions = {},
): Promise<CallToolResult> {
  if (typeof tool !== "string" || tool === "") {
    throw new McpSessionError("CONNECTION_INVALID", "tool must be the name of a tool.", {
      data: { field: "tool", connection: connection.name },
    });
  }
  checkMs(timeoutMs, "timeoutMs");
  const attempt: Execute = async (args, options) => {
    const client = await abortable(connection.client(), options?.abortSignal);
    const signal = options?.abortSignal;
    return await client.callTool({
      name: tool,
      arguments: args as Record<string, unknown>,
      ...(signal && { options: { signal } }),
    });
  };
  const withRecovery: Execute = async (args, options) => {
    const once = async () => await attempt(args, options);
    return await connection.withRecovery({ name: tool }, once);
  };
  const { timeouts } = connection.definition.options;
  const call = withCallOptions(withRecovery, {
    connection: connection.name,
    origin: connection.origin,
    callMs: timeoutMs ?? timeouts?.callMs,
    restoreError: connection.restoreError,
  });
  return await connection.trace({ operation: "call", tool }, async (note) => {
    const result = (await call(input, abortSignal && { abortSignal })) as CallToolResult;
    note({ isToolError: isToolError(result) });
    return result;
  });
}
