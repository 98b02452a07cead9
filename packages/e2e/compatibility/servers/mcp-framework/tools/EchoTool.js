import { createRequire } from "node:module";
import { MCPTool } from "mcp-framework";
import { notebookTools } from "../../../../src/fixtures/notebook-tools.ts";

// It takes schemas of its own copy of zod only.
const { z } = createRequire(import.meta.resolve("mcp-framework"))("zod");
const tool = notebookTools([]).find(({ name }) => name === "echo");

export default class EchoTool extends MCPTool {
  name = "echo";
  description = tool.description;
  schema = z.object({ text: z.string().describe("The text.") });
  execute = async (args) => (await tool.run(args)).content[0].text;
}
