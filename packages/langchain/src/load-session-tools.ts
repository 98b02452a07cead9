import { type ConnectionRegistry, currentConnections } from "@durable-mcp/ai-sdk";
import { registryInternalsOf, type LiveConnection, toolName } from "@durable-mcp/ai-sdk/internal";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { loadMcpTools, type LoadMcpToolsOptions } from "@langchain/mcp-adapters";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { type ToolOutput, withLossNotice } from "./loss-notice-in-output.ts";
import { offeredTools } from "./offered-tools.ts";
import { sessionToolClient } from "./session-tool-client.ts";

/** How the tools are loaded: the adapter's options, all but those for names. */
export interface SessionToolsOptions extends Omit<
  LoadMcpToolsOptions,
  "prefixToolNameWithServerName" | "additionalToolNamePrefix"
> {
  /**
   * `"omit"` leaves out the tools of a connection that is down, and reports it in the provider's
   * event `unavailable`; `"throw"` throws.
   *
   * @default "omit"
   */
  onUnavailable?: "omit" | "throw" | undefined;
  /** The tools of these connections alone. @default all */
  connections?: readonly string[] | undefined;
}

/**
 * The tools of all connections of a registry as LangChain tools, named `<connection>__<tool>`. They
 * are the official adapter's, bound to the registry's sessions until it is disposed of, which also
 * closes the clients they use.
 *
 * @example
 * const registry = provider.create({ state: session.state, principal });
 * try {
 *   const agent = createAgent({ model, tools: await loadSessionTools(registry) });
 *   await agent.invoke({ messages });
 * } finally {
 *   await registry.dispose();
 *   session = provider.commit(registry, session);
 * }
 *
 * @param registry by default that of the run that the calling code belongs to
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run and without a registry;
 *   `CONNECTION_INVALID` for an unknown name; with `onUnavailable: "throw"`
 *   `CONNECTION_UNAVAILABLE`, or the code that says why. The signal's reason when the step is
 *   aborted or disposed of meanwhile
 */
export async function loadSessionTools(
  registry: ConnectionRegistry<any> = currentConnections(),
  {
    onUnavailable = "omit",
    connections: names = registry.connections.map(({ name }) => name),
    ...options
  }: SessionToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  const { find, collect } = registryInternalsOf(registry);
  const listings = await collect(
    names,
    async (connection) => ({ connection, offered: await offeredTools(connection) }),
    onUnavailable,
  );
  const loadings = listings.map(({ connection, offered }) =>
    loadTools({ connection, use: () => find(connection.name), offered, options }),
  );
  return (await Promise.all(loadings)).flat();
}

async function loadTools({
  connection: { name, lossNotices },
  use,
  offered,
  options,
}: {
  connection: LiveConnection;
  use: () => LiveConnection;
  offered: readonly Tool[];
  options: LoadMcpToolsOptions;
}): Promise<DynamicStructuredTool[]> {
  const tools = await loadMcpTools(name, sessionToolClient(use, offered) as unknown as Client, {
    ...options,
    prefixToolNameWithServerName: true,
  });
  const names = tools.map((tool) => toolName(name, tool.name.slice(`${name}__`.length)));
  for (const [index, tool] of tools.entries()) {
    tool.name = await names[index]!;
    const { func } = tool;
    tool.func = async (...call) => {
      const output: unknown = await func(...call);
      // A hook may have put a command in its place.
      const notice = Array.isArray(output) ? lossNotices?.take() : undefined;
      return notice === undefined ? output : withLossNotice(output as ToolOutput, notice, options);
    };
  }
  return tools;
}
