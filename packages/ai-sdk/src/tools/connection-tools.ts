import type { MCPClient } from "@ai-sdk/mcp";
import { abortable, listPages, uniqueTools } from "@durable-mcp/core/internal";
import type { Tool, ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { boundedCall } from "./call-tool.ts";
import { offeredTools } from "./offered-tools.ts";
import { toolName } from "./tool-name.ts";

/** The tools of a connected client as the connection offers them, under their names for the model. */
export async function connectionTools(connection: LiveConnection): Promise<ToolSet> {
  const { name, definition, abortSignal, lossNotices } = connection;
  const list = async () => {
    const current = await connection.client();
    if (current.initializeResult.capabilities.tools == null) return { client: current, listed: [] };
    const listed = await connection.inConnectTime(abortSignal, (signal) =>
      listAllTools(current, connection, signal),
    );
    return { client: current, listed };
  };
  const { client, listed } = await connection.trace({ operation: "list" }, () =>
    connection.withRecovery(undefined, list),
  );
  const { options } = definition;
  const offered = offeredTools(connection, listed);
  const toolsOf = (current: MCPClient): ToolSet =>
    current.toolsFromDefinitions(
      { tools: offered },
      options.schemas === undefined ? {} : { schemas: options.schemas },
    );
  let bound = { client, tools: toolsOf(client) };

  const entries = Object.entries(bound.tools).map(async ([serverName, tool]) => {
    const execute: Execute = async (input, callOptions) => {
      const attempt = async (signal: AbortSignal | undefined) => {
        if (abortSignal.aborted) throw registryDisposed(name);
        const current = await abortable(connection.client(), signal);
        if (current !== bound.client) bound = { client: current, tools: toolsOf(current) };
        const { execute: call } = bound.tools[serverName] as { execute: Execute };
        return await call(input, { ...callOptions, ...(signal && { abortSignal: signal }) });
      };
      const definitionOfTool = offered.find((candidate) => candidate.name === serverName);
      const called = definitionOfTool ?? { name: serverName };
      const result = await boundedCall(connection, called, attempt, {
        abortSignal: callOptions?.abortSignal,
      });
      return lossNotices?.mark(result, callOptions?.toolCallId ?? "") ?? result;
    };
    const toModelOutput: Tool["toModelOutput"] =
      lossNotices && ((result) => lossNotices.tell(tool.toModelOutput, result));
    const offeredTool = { ...tool, execute, ...(toModelOutput && { toModelOutput }) } as Tool;
    return [await toolName(name, serverName, options), offeredTool] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function listAllTools(
  client: MCPClient,
  { name, origin }: LiveConnection,
  signal: AbortSignal,
) {
  const pages = await listPages(`Connection ${name}: tools/list at ${origin}`, (cursor) =>
    client.listTools({
      ...(cursor === undefined ? {} : { params: { cursor } }),
      options: { signal },
    }),
  );
  return uniqueTools(pages.flatMap(({ tools }) => tools));
}

export type Execute = (
  input: unknown,
  options?: { abortSignal?: AbortSignal; toolCallId?: string },
) => PromiseLike<unknown>;
