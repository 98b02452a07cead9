import { MCPTool } from "mcp-framework";
import { notebookTools } from "../../../src/fixtures/notebook-tools.ts";

/** A notebook tool as the class that `mcp-framework` wants. */
export function notebookToolClass(name, schema) {
  const { description, run } = notebookTools([]).find((tool) => tool.name === name);
  return class extends MCPTool {
    name = name;
    description = description;
    schema = schema;
    execute = async (args) => (await run(args)).content[0].text;
  };
}
