import { waitingCallOf } from "@durable-mcp/core/internal";
import type { ToolOutput } from "./loss-notice-in-output.ts";

/**
 * The output of a call that waits for a person, where no graph can be interrupted: its text for the model, and the
 * call among the artifacts. Any other output as it is. LangChain shows the model a text with metadata as JSON.
 */
export function withWaitingText(output: ToolOutput): ToolOutput {
  const [content, artifacts] = output;
  const isWaiting = artifacts.some(({ data }) => waitingCallOf({ _meta: data }) !== undefined);
  const { text } = (content ?? {}) as { text?: unknown };
  return isWaiting && typeof text === "string" ? [text, artifacts] : output;
}
