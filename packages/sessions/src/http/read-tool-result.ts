import { isRecord } from "@durable-mcp/core/internal";
import type { CallToolResult } from "../base/mcp-client.ts";

/** The result of a call, checked as far as its readers rely on it. One of structured content alone gets it as text, too. */
export function readToolResult(result: Record<string, unknown>): CallToolResult | undefined {
  const { content, structuredContent, isError = false } = result;
  if (typeof isError !== "boolean") return undefined;
  if (Array.isArray(content) && content.every(isContent)) return { ...result, content, isError };
  if (content === undefined && structuredContent !== undefined) {
    const text = JSON.stringify(structuredContent);
    return { ...result, isError, content: [{ type: "text", text }] };
  }
  // Of servers of 2024-10-07.
  return "toolResult" in result ? result : undefined;
}

/** The members that blocks of a type have, all of them texts. */
const members: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

function isContent(block: unknown): boolean {
  if (!isRecord(block) || typeof block["type"] !== "string") return false;
  const { type, resource } = block;
  if (type === "resource") {
    if (!isRecord(resource) || typeof resource["uri"] !== "string") return false;
    return [resource["text"], resource["blob"]].some((each) => typeof each === "string");
  }
  const needed = Object.hasOwn(members, type) ? members[type]! : [];
  return needed.every((name) => typeof block[name] === "string");
}
