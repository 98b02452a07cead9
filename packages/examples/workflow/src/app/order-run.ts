import type { Principal } from "@durable-mcp/workflow";
import type { ModelMessage } from "ai";

export interface OrderRun {
  readonly principal: Principal;
  readonly connections: string[];
  /** What the scripted model is to do: JSON, the calls of each turn. */
  readonly prompt: string;
}

/** The text of each tool result, in the order of the calls. */
export function readAnswers(messages: readonly ModelMessage[]): string[] {
  return messages
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [part.output] : []))
    .map((output) => {
      if (output.type === "text") return output.value;
      if (output.type !== "content") return JSON.stringify(output);
      return output.value.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    });
}
