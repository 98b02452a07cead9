import { type McpTestClient, toolOutcome } from "./mcp-test-client.ts";

interface ToolSetClient {
  tools: () => Promise<Record<string, { execute?: unknown }>>;
  close: () => Promise<void>;
}

type Execute = (
  args: Record<string, unknown>,
  options: { toolCallId: string; messages: [] },
) => Promise<unknown>;

/** An `@ai-sdk/mcp` client of either version; the tools are listed once per connection. */
export function clientFromToolSet(client: ToolSetClient): McpTestClient {
  let listing: ReturnType<ToolSetClient["tools"]> | undefined;
  const tools = () => (listing ??= client.tools());
  return {
    listTools: async () => Object.keys(await tools()),
    callTool: async (name, args) => {
      const execute = (await tools())[name]?.execute as Execute | undefined;
      if (!execute) throw new Error(`the server has no tool named ${name}`);
      return toolOutcome(await execute(args, { toolCallId: name, messages: [] }));
    },
    close: () => client.close(),
  };
}
