import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { ModelMessage, ToolResultPart } from "ai";

/** An application's messages, in a file. */
export function openConversation(path: string) {
  const messages = () =>
    existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as ModelMessage[]) : [];
  const replace = (all: readonly ModelMessage[]) => writeFileSync(path, JSON.stringify(all));
  return {
    messages,
    replace,
    /** Puts down a call and what its tool gave, as AI SDK does. */
    add(
      call: { toolCallId: string; toolName: string; input: object },
      output: ToolResultPart["output"],
    ): void {
      const { toolCallId, toolName } = call;
      replace([
        ...messages(),
        { role: "assistant", content: [{ type: "tool-call", ...call }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
      ]);
    },
    /** The result of a call, as the model reads it. */
    textOf(toolCallId: string): string {
      const results = messages().flatMap(({ role, content }) => (role === "tool" ? content : []));
      const found = results.find((part) => "output" in part && part.toolCallId === toolCallId);
      return JSON.stringify(found);
    },
  };
}
