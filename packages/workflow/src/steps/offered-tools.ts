import { toolMayRunTwice } from "@durable-mcp/ai-sdk/internal";
import type { FlexibleSchema } from "ai";
import type { OfferedTool } from "../step-protocol.ts";
import type { Repetition } from "./declared-connections.ts";

/** The part of a registry's tool that is used here. */
interface RegistryTool {
  readonly title?: string | undefined;
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly metadata?: { readonly toolName?: unknown; readonly annotations?: unknown } | undefined;
}

/** The tools of one connection as plain values. */
export async function offeredTools(
  tools: Record<string, unknown>,
  repetition: Repetition | undefined,
): Promise<OfferedTool[]> {
  const { asSchema } = await import("ai");
  const offered = Object.entries(tools).map(async ([name, value]) => {
    const { title, description, inputSchema, metadata } = value as RegistryTool;
    const tool = String(metadata?.toolName);
    const schema = await asSchema(inputSchema as FlexibleSchema).jsonSchema;
    return {
      name,
      tool,
      ...(title !== undefined && { title }),
      ...(typeof description === "string" && { description }),
      inputSchema: schema as Record<string, unknown>,
      mayRunTwice: mayRunAgain({ name: tool, annotations: metadata?.annotations }, repetition),
    };
  });
  return await Promise.all(offered);
}

/** Whether a call of this tool may be made again after an unknown outcome. */
function mayRunAgain(
  tool: { readonly name: string; readonly annotations?: unknown },
  { resend = "safe", ...options }: Repetition = {},
): boolean {
  if (resend !== "safe") return resend === "always";
  return toolMayRunTwice(tool, options);
}
