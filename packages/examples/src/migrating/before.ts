/**
 * One step of an application as it is before it moves over: connect, list the tools, call one, close.
 *
 *     node before.ts <library> <URL of the MCP server> <tool> <input> <file for what the step keeps>
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createMCPClient, type InitializeResult } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const [library = "", url = "", tool = "", input = "{}", file = ""] = process.argv.slice(2);
const args = JSON.parse(input) as Record<string, unknown>;

const steps: Record<string, () => Promise<unknown>> = {
  "@ai-sdk/mcp": async () => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    const tools = await client.tools();
    const result = await tools[tool]!.execute(args);
    await client.close();
    return result;
  },
  "@ai-sdk/mcp, its session options": async () => {
    const kept = existsSync(file)
      ? (JSON.parse(readFileSync(file, "utf8")) as { id: string; initialized: InitializeResult })
      : undefined;
    let id = kept?.id;
    const client = await createMCPClient({
      transport: {
        type: "http",
        url,
        ...(id !== undefined && { initialSessionId: id }),
        onSessionIdChange: (changed) => (id = changed),
        terminateSessionOnClose: false,
      },
      ...(kept && { initialInitializeResult: kept.initialized }),
    });
    const tools = await client.tools();
    const result = await tools[tool]!.execute(args);
    await client.close();
    writeFileSync(file, JSON.stringify({ id, initialized: client.initializeResult }));
    return result;
  },
  "@langchain/mcp-adapters": async () => {
    const client = new MultiServerMCPClient({ cart: { url } });
    const tools = await client.getTools();
    const result: unknown = await tools.find(({ name }) => name === tool)!.invoke(args);
    await client.close();
    return result;
  },
};

console.log(JSON.stringify(await steps[library]!()));
