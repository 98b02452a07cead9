import type { ToolOutput } from "./loss-notice-in-output.ts";

/**
 * The output without the metadata of the server's result in the content. The adapter puts them there too, and
 * LangChain shows the model a text with metadata as JSON. They stay among the artifacts.
 */
export function withoutMetadata([content, artifacts]: ToolOutput): ToolOutput {
  if (Array.isArray(content)) return [content.map(withoutMeta), artifacts];
  const own = withoutMeta(content);
  const { type, text, source_type: _, ...more } = (own ?? {}) as Record<string, unknown>;
  const isText = type === "text" && typeof text === "string" && Object.keys(more).length === 0;
  // As the adapter does where there are no metadata.
  return [own !== content && isText ? text : own, artifacts];
}

function withoutMeta(block: unknown): unknown {
  if (typeof block !== "object" || block === null || !("meta" in block)) return block;
  const { meta: _, ...own } = block;
  return own;
}
