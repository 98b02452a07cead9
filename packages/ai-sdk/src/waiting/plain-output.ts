import type { ToolResultPart } from "ai";

/** What AI SDK makes of an output for the model, when the tool does not say. */
export function plainModelOutput(output: unknown): ToolResultPart["output"] {
  if (typeof output === "string") return { type: "text", value: output };
  return { type: "json", value: (output ?? null) as never };
}
