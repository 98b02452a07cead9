import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import type { ListToolsResult, MCPClient } from "@ai-sdk/mcp";
import type { Tool, ToolSet } from "ai";
import { McpSessionError } from "@durable-mcp/core";
import { callTimedOut, registryDisposed } from "../errors/connection-error.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { toolName } from "./tool-name.ts";

/** The tools of a connected client as the connection offers them, under their names for the model. */
export async function connectionTools(connection: LiveConnection): Promise<ToolSet> {
  const { name, definition, abortSignal, restoreError, lossNotices } = connection;
  const list = async () => {
    const current = await connection.client();
    if (current.initializeResult.capabilities.tools == null) return { client: current, listed: [] };
    const signal = withTimeLimit(connection.connectMs, abortSignal);
    return { client: current, listed: await listAllTools(current, signal) };
  };
  const { client, listed } = await connection.trace({ operation: "list" }, () =>
    connection.withRecovery(undefined, list),
  );
  const { options } = definition;
  const offered = listed.filter((tool) => isOffered(tool.name, options.tools));
  const toolsOf = (current: MCPClient): ToolSet =>
    current.toolsFromDefinitions(
      { tools: offered },
      options.schemas === undefined ? {} : { schemas: options.schemas },
    );
  let bound = { client, tools: toolsOf(client) };

  const entries = Object.entries(bound.tools).map(async ([serverName, tool]) => {
    const definitionOfTool = offered.find((candidate) => candidate.name === serverName);
    const call: Execute = async (input, callOptions) => {
      if (abortSignal.aborted) throw registryDisposed(name);
      const result = await connection.withRecovery(
        definitionOfTool ?? { name: serverName },
        async () => {
          const current = await abortable(connection.client(), callOptions?.abortSignal);
          if (current !== bound.client) bound = { client: current, tools: toolsOf(current) };
          const { execute } = bound.tools[serverName] as { execute: Execute };
          return await execute(input, callOptions);
        },
      );
      return lossNotices?.mark(result, callOptions?.toolCallId ?? "") ?? result;
    };
    const bounded = withCallOptions(call, {
      connection: name,
      origin: connection.origin,
      callMs: options.timeouts?.callMs,
      restoreError,
    });
    const execute: Execute = (input, callOptions) =>
      connection.trace({ operation: "call", tool: serverName }, async (note) => {
        const result = await bounded(input, callOptions);
        note({ isToolError: isToolError(result) });
        return result;
      });
    const toModelOutput: Tool["toModelOutput"] =
      lossNotices && ((result) => lossNotices.tell(tool.toModelOutput, result));
    const offeredTool = { ...tool, execute, ...(toModelOutput && { toModelOutput }) } as Tool;
    return [await toolName(name, serverName), offeredTool] as const;
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

export type Execute = (
  input: unknown,
  options?: { abortSignal?: AbortSignal; toolCallId?: string },
) => PromiseLike<unknown>;

/** Bounds a call in time, and turns a client's error back into ours. */
export function withCallOptions(
  execute: Execute,
  {
    connection,
    origin,
    callMs,
    restoreError,
  }: {
    connection: string;
    origin: string;
    callMs: number | undefined;
    restoreError: (error: unknown) => unknown;
  },
): Execute {
  return async (input, options) => {
    const callers = options?.abortSignal;
    const abortSignal = callMs === undefined ? callers : withTimeLimit(callMs, callers);
    try {
      return await execute(input, { ...options, ...(abortSignal && { abortSignal }) });
    } catch (error) {
      const restored = restoreError(error);
      const isLate = abortSignal?.aborted && !callers?.aborted;
      // An error of ours knows more about what became of the call.
      if (!isLate || McpSessionError.isInstance(restored)) throw restored;
      throw callTimedOut(error, { connection, origin, callMs: callMs! });
    }
  };
}

/** Whether a tool's result says that the tool failed. */
export function isToolError(result: unknown): boolean {
  // A tool with an output schema may have an `isError` of its own.
  const { isError, content } = (result ?? {}) as { isError?: unknown; content?: unknown };
  return isError === true && Array.isArray(content);
}
