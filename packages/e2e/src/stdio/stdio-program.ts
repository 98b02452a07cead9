/**
 * A program that uses a stdio server which starts many processes, says `ready` and ends, or waits
 * to be ended, without disposing of anything.
 *
 *     node stdio-program.ts <command> <args as JSON> <wait | return | exit | throw>
 */
import { createConnectionProvider } from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";

const [command = "", args = "[]", ending] = process.argv.slice(2);
const provider = createConnectionProvider({
  connections: {
    fixture: defineMcpStdioConnection({
      command,
      args: JSON.parse(args) as string[],
      description: "Starts processes.",
      timeouts: { closeMs: 200 },
    }),
  },
});
const registry = provider.create({});
const client = await registry.client("fixture");
await client.callTool({ name: "start_processes", arguments: {} });
console.log("ready");
if (ending === "wait") setInterval(() => undefined, 1e6);
if (ending === "exit") process.exit(3);
if (ending === "throw") throw new Error("A mistake.");
