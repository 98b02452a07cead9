import { asSchema } from "ai";
import type { JsonValue } from "eve/connections";
import { type ToolContext, toolOutput, toolOutputPart } from "eve/tools";
import { type EveSession, mcpSessions, ownerOf } from "./mcp-sessions.ts";

interface McpTool {
  name: string;
  description: string;
  inputSchema: { readonly [key: string]: JsonValue };
}

/** A tool's result as MCP has it. */
interface ToolResult {
  content: (
    | { type: "text"; text: string }
    | { type: "image" | "audio"; data: string; mimeType: string }
    | { type: "resource" | "resource_link" }
  )[];
  isError?: boolean;
}

/** The tools of all connections as plain data. Sends nothing while their lists are kept. */
export async function listTools(session: EveSession): Promise<McpTool[]> {
  const { id, principal } = ownerOf(session);
  return await mcpSessions().run(id, { principal }, async (run) =>
    Promise.all(
      Object.entries(await run.tools()).map(async ([name, { description, inputSchema }]) => ({
        name,
        description: typeof description === "string" ? description : name,
        inputSchema: (await asSchema(inputSchema).jsonSchema) as McpTool["inputSchema"],
      })),
    ),
  );
}

/** One call: it finds the session in the store, makes one request, and closes the client. */
export async function callTool(
  name: string,
  input: unknown,
  { session, callId, abortSignal }: ToolContext,
): Promise<ToolResult> {
  const { id, principal } = ownerOf(session);
  return await mcpSessions().run(id, { principal, abortSignal }, async (run) => {
    const tool = (await run.tools())[name];
    if (!tool?.execute) throw new Error(`The server of ${name} cannot be reached.`);
    const options = { toolCallId: callId, messages: [], abortSignal, context: {} };
    const result = (await tool.execute(input, options)) as ToolResult;
    if (result.isError) throw new Error(textOf(result));
    return result;
  });
}

/** Texts, images and audio reach the model as such. */
export function modelOutput({ content }: ToolResult) {
  return toolOutput.content(
    content.map((part) =>
      part.type === "image" || part.type === "audio"
        ? toolOutputPart.file(part.data, { mediaType: part.mimeType })
        : toolOutputPart.text(part.type === "text" ? part.text : JSON.stringify(part)),
    ),
  );
}

function textOf({ content }: ToolResult): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
