import type { MCPClient } from "@ai-sdk/mcp";
import { abortable, listPages, uniqueTools } from "@durable-mcp/core/internal";
import type { Tool, ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { boundedCall } from "./call-tool.ts";
import { offeredTools } from "./offered-tools.ts";

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
    return [await toolName(name, serverName), offeredTool] as const;
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

/** Model providers accept up to 64 characters of `[A-Za-z0-9_-]`. */
const maxLength = 64;
const hashLength = 8;

/**
 * The name under which a tool is offered to the model: `<connection>__<tool>`. One that is too
 * long or has other characters is shortened, and ends in a hash of both names, so that it depends
 * on nothing else and approvals find it again in a later step.
 */
export async function toolName(connection: string, tool: string): Promise<string> {
  const name = `${connection}__${tool}`;
  const valid = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (valid === name && name.length <= maxLength) return name;
  return `${valid.slice(0, maxLength - hashLength - 1)}_${await hash(JSON.stringify([connection, tool]))}`;
}

async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return hex.join("").slice(0, hashLength);
}
