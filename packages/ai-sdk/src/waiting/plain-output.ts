import type { ToolResultPart } from "ai";
import { ownField } from "../base/own-field.ts";

type ModelOutput = ToolResultPart["output"];
type ContentPart = Extract<ModelOutput, { type: "content" }>["value"][number];

/** What AI SDK makes of an output for the model, when the tool does not say. */
export function plainModelOutput(output: unknown): ModelOutput {
  if (typeof output === "string") return { type: "text", value: output };
  return { type: "json", value: (output ?? null) as never };
}

/** What AI SDK's client makes of a tool's result for the model: its content, and nothing that is for the client. */
export function contentModelOutput(result: unknown): ModelOutput {
  const content = ownField(result, "content");
  if (!Array.isArray(content)) return plainModelOutput(result);
  return { type: "content", value: content.map(contentPart) };
}

function contentPart(block: unknown): ContentPart {
  const [type, text] = [ownField(block, "type"), ownField(block, "text")];
  if (type === "text" && typeof text === "string") return { type, text };
  const [data, mediaType] = [ownField(block, "data"), ownField(block, "mimeType")];
  if (type === "image" && typeof data === "string" && typeof mediaType === "string")
    // A part of AI SDK 7, whose client this is.
    return { type: "file", mediaType, data: { type: "data", data } };
  return { type: "text", text: JSON.stringify(block) };
}
