import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const text = (content: string) => ({ type: "text" as const, text: content });
const resource = { uri: "test://resource", mimeType: "text/plain" };

/** One tool for each form that a result may have. */
export function registerGallery(mcp: McpServer): void {
  mcp.registerResource("resource", resource.uri, { mimeType: "text/plain" }, () => ({
    contents: [{ ...resource, text: "The text of the resource." }],
  }));
  const results = {
    one_text: { content: [text("one")] },
    two_texts: { content: [text("one"), text("two")] },
    nothing: { content: [] },
    image: { content: [{ type: "image" as const, data: pixel, mimeType: "image/png" }] },
    text_and_image: {
      content: [text("look"), { type: "image" as const, data: pixel, mimeType: "image/png" }],
    },
    audio: { content: [{ type: "audio" as const, data: "AAAA", mimeType: "audio/wav" }] },
    text_resource: {
      content: [{ type: "resource" as const, resource: { ...resource, text: "inside" } }],
    },
    blob_resource: {
      content: [{ type: "resource" as const, resource: { ...resource, blob: "AAAA" } }],
    },
    resource_link: {
      content: [{ type: "resource_link" as const, name: "resource", ...resource }],
    },
    with_meta: { content: [text("one")], _meta: { "example.test/key": 1 } },
    refused: { content: [text("No."), text("Really not.")], isError: true },
  };
  for (const [name, result] of Object.entries(results)) {
    mcp.registerTool(name, { description: `Answers with ${name}.` }, () => result);
  }
  const outputSchema = { sum: z.number() };
  mcp.registerTool(
    "structured",
    { inputSchema: { a: z.number(), b: z.number().optional() }, outputSchema },
    ({ a, b = 1 }) => ({ content: [text(String(a + b))], structuredContent: { sum: a + b } }),
  );
  mcp.registerTool("annotated", { annotations: { readOnlyHint: true } }, () => results.one_text);
  mcp.registerTool("protocol_error", {}, () => {
    throw new McpError(ErrorCode.InternalError, "Out of paper.");
  });
  mcp.registerTool("progress", {}, async ({ _meta, sendNotification }) => {
    for (const progress of [1, 2]) {
      const params = { progressToken: _meta!.progressToken!, progress, total: 2 };
      await sendNotification({ method: "notifications/progress", params });
    }
    return results.one_text;
  });
  // The server's SDK checks what its tools give; this one's answer breaks its own schema.
  mcp.registerTool("wrong_structure", { outputSchema }, () => ({
    content: [],
    structuredContent: { sum: 1 },
  }));
}
