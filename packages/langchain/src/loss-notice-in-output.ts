import type { LossNotice } from "@durable-mcp/sessions/internal";

/** The output of an adapter's tool: content for the model, and artifacts for code. */
export type ToolOutput = [content: unknown, artifacts: { type: string; data?: unknown }[]];

/** The output with the notice at the start of the content, and its mark among the artifacts. */
export function withLossNotice(
  [content, artifacts]: ToolOutput,
  { text, meta }: LossNotice,
  { useStandardContentBlocks = false }: { useStandardContentBlocks?: boolean | undefined },
): ToolOutput {
  const isMeta = ({ type }: ToolOutput[1][number]) => type === "mcp_meta";
  const data = { ...(artifacts.find(isMeta)?.data as object | undefined), ...meta };
  const marked = [...artifacts.filter((artifact) => !isMeta(artifact)), { type: "mcp_meta", data }];
  if (text === undefined) return [content, marked];
  if (Array.isArray(content)) {
    const block = useStandardContentBlocks
      ? { type: "text", source_type: "text", text }
      : { type: "text", text };
    return [[block, ...(content as unknown[])], marked];
  }
  // LangChain shows the model a single block as JSON, if the block has more than a text.
  const shown = typeof content === "string" ? content : JSON.stringify(content);
  return [`${text}\n\n${shown}`, marked];
}
