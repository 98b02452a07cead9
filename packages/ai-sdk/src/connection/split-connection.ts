import type { MCPClient } from "@ai-sdk/mcp";
import type { ToolSet } from "ai";
import { withOwnMethods } from "../events/client-errors.ts";
import type { LiveConnection } from "./live-connection.ts";
import { createLossNotices } from "./loss-notice.ts";

/**
 * A stdio connection with the calls of some tools on a second process: `session.except`.
 *
 * @param aside has the second process. It is closed with the connection
 * @param tools the server's names of the tools
 * @param lossNotice as in the connection's definition
 */
export function splitConnection(
  main: LiveConnection,
  aside: LiveConnection,
  tools: readonly string[],
  lossNotice: string | false | undefined,
): LiveConnection {
  const both = [main, aside];
  const notices = both.map(({ lossNotices }) => ({
    takeLossNotice: () => lossNotices?.take() !== undefined,
  }));
  const clients = new WeakMap<MCPClient, MCPClient>();
  return {
    ...main,
    lossNotices: createLossNotices(notices, lossNotice),
    async client() {
      const client = await main.client();
      const own = clients.get(client) ?? splitClient(client, aside, tools);
      clients.set(client, own);
      return own;
    },
    withRecovery: (tool, attempt) =>
      (tool && tools.includes(tool.name) ? aside : main).withRecovery(tool, attempt),
    restoreError: (error, request) =>
      aside.restoreError(main.restoreError(error, request), request),
    get openings() {
      return new Set([...main.openings, ...aside.openings]);
    },
    settle: async () => void (await Promise.all(both.map((each) => each.settle()))),
    endLooseSessions: async () =>
      void (await Promise.all(both.map((each) => each.endLooseSessions()))),
  };
}

type Definitions = Parameters<MCPClient["toolsFromDefinitions"]>;

/** The client with the calls of these tools on the client of another connection. */
function splitClient(
  client: MCPClient,
  aside: LiveConnection,
  names: readonly string[],
): MCPClient {
  const splitTools = (tools: ToolSet, [definitions, options]: Definitions): ToolSet => {
    const entries = Object.entries(tools).map(([name, tool]) => {
      if (!names.includes(name)) return [name, tool] as const;
      const execute: NonNullable<typeof tool.execute> = async (input, use) => {
        const other = await aside.client();
        const others = other.toolsFromDefinitions(definitions, options) as ToolSet;
        return (await others[name]!.execute!(input, use)) as unknown;
      };
      return [name, { ...tool, execute }] as const;
    });
    return Object.fromEntries(entries) as ToolSet;
  };
  const own: Pick<MCPClient, "callTool" | "toolsFromDefinitions" | "tools"> = {
    async callTool(options) {
      if (!names.includes(options.name)) return await client.callTool(options);
      const other = await aside.client();
      return await other.callTool(options);
    },
    toolsFromDefinitions: ((...given: Definitions) =>
      splitTools(client.toolsFromDefinitions(...given) as ToolSet, given)) as never,
    tools: (async (options: Definitions[1]) => {
      const listed = await client.listTools();
      return own.toolsFromDefinitions(listed, options);
    }) as never,
  };
  return withOwnMethods(client, own);
}
