import { defineDynamic, defineTool } from "eve/tools";
import { callTool, listTools, modelOutput } from "../lib/mcp-tools.ts";

/** The server's tools, as they are, on the MCP session of the eve session. */
export default defineDynamic({
  events: {
    "turn.started": async (_event, { session }) => {
      // For the comparison with eve's own connection.
      if (process.env["WITHOUT_CART"] !== undefined) return null;
      return Object.fromEntries(
        (await listTools(session)).map(({ name, description, inputSchema }) => [
          name,
          defineTool({
            description,
            inputSchema,
            execute: (input, context) => callTool(name, input, context),
            toModelOutput: modelOutput,
          }),
        ]),
      );
    },
  },
});
