import type { McpClient } from "../base/mcp-client.ts";
import { type ClientTools, withOwnMethods } from "../events/client-errors.ts";
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
  const clients = new WeakMap<McpClient, McpClient>();
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

/** A client that makes tools, as that of `@ai-sdk/mcp` does. */
interface MakesTools extends McpClient {
  toolsFromDefinitions(definitions: unknown, options: unknown): ClientTools;
  tools(options: unknown): Promise<ClientTools>;
}

export const makesTools = (client: McpClient): client is MakesTools =>
  "toolsFromDefinitions" in client;

/** The client with the calls of these tools on the client of another connection. */
function splitClient(
  client: McpClient,
  aside: LiveConnection,
  names: readonly string[],
): McpClient {
  const main = client as MakesTools;
  const own: Pick<MakesTools, "callTool" | "toolsFromDefinitions" | "tools"> = {
    async callTool(options) {
      if (!names.includes(options.name)) return await client.callTool(options);
      const other = await aside.client();
      return await other.callTool(options);
    },
    toolsFromDefinitions(...given) {
      const tools = main.toolsFromDefinitions(...given);
      const entries = Object.entries(tools).map(([name, tool]) => {
        if (!names.includes(name)) return [name, tool] as const;
        const execute = async (...call: unknown[]) => {
          const other = (await aside.client()) as MakesTools;
          return await other.toolsFromDefinitions(...given)[name]!.execute!(...call);
        };
        return [name, { ...tool, execute }] as const;
      });
      return Object.fromEntries(entries);
    },
    async tools(options) {
      return own.toolsFromDefinitions(await client.listTools(), options);
    },
  };
  return withOwnMethods(main, own);
}
