import { abortable, maxTimerMs, scrubJson } from "@durable-mcp/core/internal";
import { McpSessionError } from "@durable-mcp/sessions";
import type { LiveConnection } from "@durable-mcp/sessions/internal";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { connectionClient } from "./connection-client.ts";
import { graphCallOf } from "./graph-call.ts";
import { pausingCall } from "./pausing-call.ts";
import type { ToolClient } from "./tool-client.ts";
import { ToolException } from "./tool-exception.ts";

/** The SDK always sets a timer, so this is the longest one. */
const noTimeoutMs = maxTimerMs;

/** Calls `use` with a connection. Throws if it can no longer be used. */
export type LendConnection = <T>(use: (connection: LiveConnection) => Promise<T>) => Promise<T>;

/** Tools of one connection. */
export interface OfferedTools {
  readonly offered: readonly Tool[];
  /** Whether it is the stand-in for the connection's tools. */
  readonly isStandIn: boolean;
}

/** The adapter's client for one connection. It has the connection's tools and its errors. */
export function sessionToolClient(lend: LendConnection, tools: OfferedTools): ToolClient {
  return {
    listTools: async () => ({ tools: [...tools.offered] }),
    async callTool(...call) {
      try {
        return await lend((current) => callTool(current, call, tools));
      } catch (error) {
        const isPassed = McpSessionError.isInstance(error) || isGraphBubbleUp(error);
        throw isPassed ? new ToolException(call[0].name, error) : error;
      }
    },
    readResource: (params, options) =>
      lend(async (current) => {
        const read = async () => {
          const client = await connectionClient(current);
          return await client.readResource(params, { timeout: noTimeoutMs, ...options });
        };
        return await current.withRecovery(undefined, read);
      }),
  };
}

type CallParameters = Parameters<ToolClient["callTool"]>;

async function callTool(
  connection: LiveConnection,
  [params, resultSchema, options]: CallParameters,
  { offered, isStandIn }: OfferedTools,
): ReturnType<ToolClient["callTool"]> {
  const attempt = async (signal: AbortSignal | undefined, args: unknown) => {
    const client = await abortable(connectionClient(connection), signal);
    const call = { ...params, arguments: args as typeof params.arguments };
    // The SDK would end every call after a minute. The connection has its own time limit.
    const use = { timeout: noTimeoutMs, ...options, ...(signal && { signal }) };
    const { onprogress: tell } = use;
    const onprogress: typeof tell = (said) =>
      tell?.(scrubJson(said, connection.secrets.scrub) as typeof said);
    const heard = { ...use, ...(tell && { onprogress }) };
    return (await client.callTool(call, resultSchema, heard)) as CallToolResult;
  };
  const { arguments: input } = params;
  const result = await pausingCall({
    ...{ connection, input, graph: graphCallOf(input), signal: options?.signal },
    tool: offered.find(({ name }) => name === params.name) ?? { name: params.name },
    attempt: isStandIn ? undefined : attempt,
  });
  // The adapter turns the result into an error, and the error only has the text.
  const notice = result.isError ? connection.lossNotices?.take()?.text : undefined;
  if (notice === undefined) return result;
  return { ...result, content: [{ type: "text", text: notice }, ...result.content] };
}
