import type { ListToolsResult, MCPClient } from "@ai-sdk/mcp";
import type { ToolSet } from "ai";
import { McpSessionError } from "@durable-mcp/core";
import { callTimedOut } from "./connection-error.ts";
import { connectTimeoutMs, type McpClientConnection } from "./define-connection.ts";
import { toolName } from "./tool-name.ts";

/** The tools of a connected client as the connection offers them, under their names for the model. */
export async function connectionTools({
  name: connection,
  definition,
  client,
  abortSignal,
  restoreError,
}: {
  name: string;
  definition: McpClientConnection;
  client: MCPClient;
  abortSignal: AbortSignal;
  restoreError: (error: unknown) => unknown;
}): Promise<ToolSet> {
  if (client.initializeResult.capabilities.tools == null) return {};
  const { options } = definition;
  const timeout = AbortSignal.timeout(connectTimeoutMs(definition));
  const listed = await listAllTools(client, AbortSignal.any([abortSignal, timeout]));
  const offered = listed.filter(({ name }) => isOffered(name, options.tools));
  const tools = client.toolsFromDefinitions(
    { tools: offered },
    options.schemas === undefined ? {} : { schemas: options.schemas },
  );
  const entries = Object.entries(tools).map(async ([name, tool]) => {
    const execute = withCallOptions(tool.execute as Execute, {
      connection,
      options,
      restoreError,
    });
    return [await toolName(connection, name), { ...tool, execute }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function listAllTools(client: MCPClient, signal: AbortSignal) {
  const tools: ListToolsResult["tools"] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools({
      ...(cursor === undefined ? {} : { params: { cursor } }),
      options: { signal },
    });
    tools.push(...page.tools);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return tools;
}

function isOffered(name: string, filter: McpClientConnection["options"]["tools"]): boolean {
  if (filter === undefined) return true;
  return "allow" in filter ? filter.allow.includes(name) : !filter.block.includes(name);
}

type Execute = (input: unknown, options?: { abortSignal?: AbortSignal }) => PromiseLike<unknown>;

/** Bounds a call in time, and turns a client's error back into ours. */
function withCallOptions(
  execute: Execute,
  {
    connection,
    options: { url, timeouts: { callMs } = {} },
    restoreError,
  }: {
    connection: string;
    options: McpClientConnection["options"];
    restoreError: (error: unknown) => unknown;
  },
): Execute {
  return async (input, options) => {
    const timeout = callMs === undefined ? undefined : AbortSignal.timeout(callMs);
    const signals = [options?.abortSignal, timeout].filter((signal) => signal !== undefined);
    const [abortSignal] = signals.length > 1 ? [AbortSignal.any(signals)] : signals;
    try {
      return await execute(input, { ...options, ...(abortSignal && { abortSignal }) });
    } catch (error) {
      const restored = restoreError(error);
      const isTimeout = timeout?.aborted && !options?.abortSignal?.aborted;
      // An error of ours knows more about what became of the call.
      if (!isTimeout || McpSessionError.isInstance(restored)) throw restored;
      throw callTimedOut(error, { connection, origin: new URL(url).origin, callMs: callMs! });
    }
  };
}
