import type { ResultPart, ToolResult } from "../step-protocol.ts";

/**
 * A tool result in the model's form of AI SDK 6. AI SDK 7 has another form for files, and still takes
 * this one.
 */
export function modelOutput(output: {
  readonly type: string;
  readonly value?: unknown;
}): ToolResult {
  const { type, value } = output;
  if (type === "text") return { type, value: String(value) };
  if (type === "content" && Array.isArray(value)) return { type, value: value.map(resultPart) };
  return { type: "json", value };
}

function resultPart(part: unknown): ResultPart {
  const { type, text, mediaType, data } = part as Record<string, any>;
  if (type === "text") return { type, text: String(text) };
  if (type === "file" && data?.type === "data" && typeof data.data === "string") {
    const kind = String(mediaType).startsWith("image/") ? "image-data" : "file-data";
    return { type: kind, data: data.data, mediaType: String(mediaType) };
  }
  return { type: "text", text: JSON.stringify(part) };
}
