import type { ResultPart, ToolResult } from "../step-protocol.ts";

/**
 * A tool's output in the model's form of AI SDK 6. AI SDK 7 has another form for files, and still takes this one.
 *
 * @param notice for the model, before it
 */
export function modelOutput(output: unknown, notice?: string): ToolResult {
  const { content } = (output ?? {}) as { readonly content?: unknown };
  const note = notice === undefined ? [] : [{ type: "text", text: notice } as const];
  if (Array.isArray(content))
    return { type: "content", value: [...note, ...content.map(resultPart)] };
  if (notice === undefined) return { type: "json", value: output ?? null };
  return { type: "content", value: [...note, { type: "text", text: JSON.stringify(output) }] };
}

function resultPart(block: unknown): ResultPart {
  const { type, text, mimeType, data } = block as Record<string, unknown>;
  if (type === "text") return { type, text: String(text) };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    const kind = mimeType.startsWith("image/") ? "image-data" : "file-data";
    return { type: kind, data, mediaType: mimeType };
  }
  return { type: "text", text: JSON.stringify(block) };
}
