import { createMCPClient } from "@ai-sdk/mcp";
import { askable, type ConnectPlainClient, readFirst } from "./plain-client.ts";

type Execute = (
  args: Record<string, unknown>,
  options: { toolCallId: string; messages: [] },
) => Promise<unknown>;

/** `@ai-sdk/mcp` 2, used as an agent does: `tools()`, then `execute`. */
export const connectAiSdk: ConnectPlainClient = async ({ url, fetch, capabilities = askable }) => {
  const client = await createMCPClient({
    transport: { type: "http", url, ...(fetch && { fetch }) },
    capabilities,
  });
  return {
    listTools: async () => (await client.listTools()).tools,
    async callTool(name, args) {
      const execute = (await client.tools())[name]?.execute as Execute | undefined;
      if (execute === undefined) throw new Error(`the server has no tool named ${name}`);
      return await execute(args, { toolCallId: name, messages: [] });
    },
    readFirst: () => readFirst(client),
    close: () => client.close(),
  };
};
