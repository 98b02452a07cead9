import type { CallToolResult } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { abortable, checkMs } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import { boundedCall, type CallOptions } from "./bounded-call.ts";

/** Calls a tool of a connection without a model. A loss notice waits for the model's next result. */
export async function callTool(
  connection: LiveConnection,
  tool: string,
  input: Readonly<Record<string, unknown>> = {},
  options: CallOptions = {},
): Promise<CallToolResult> {
  if (typeof tool !== "string" || tool === "") {
    throw new McpSessionError("CONNECTION_INVALID", "tool must be the name of a tool.", {
      data: { field: "tool", connection: connection.name },
    });
  }
  checkMs(options.timeoutMs, "timeoutMs");
  const attempt = async (signal: AbortSignal | undefined) => {
    const client = await abortable(connection.client(), signal);
    const call = { name: tool, arguments: input, ...(signal && { options: { signal } }) };
    return await client.callTool(call);
  };
  return await boundedCall(connection, { name: tool }, attempt, options);
}
