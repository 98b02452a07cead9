import type { StatefulSessionOptions } from "@durable-mcp/sessions";
import { mayRunTwice, standInName } from "@durable-mcp/sessions/internal";
import type { FlexibleSchema } from "ai";
import type { OfferedTool } from "../step-protocol.ts";

/** The part of a run's tool that is used here. */
interface RunTool {
  readonly title?: string | undefined;
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly metadata?: { readonly toolName?: unknown; readonly annotations?: unknown } | undefined;
}

/** The tools of one connection as plain values. Only a stand-in is no tool of its server. */
export async function offeredTools(
  tools: Record<string, unknown>,
  resend: StatefulSessionOptions["resend"],
): Promise<OfferedTool[]> {
  const { asSchema } = await import("ai");
  const offered = Object.entries(tools).map(async ([name, value]) => {
    const { title, description, inputSchema, metadata } = value as RunTool;
    const isStandIn = metadata === undefined;
    const tool = isStandIn ? standInName : String(metadata.toolName);
    const schema = await asSchema(inputSchema as FlexibleSchema).jsonSchema;
    return {
      name,
      tool,
      ...(title !== undefined && { title }),
      ...(typeof description === "string" && { description }),
      inputSchema: schema as Record<string, unknown>,
      mayRunTwice:
        isStandIn || mayRunTwice({ name: tool, annotations: metadata.annotations }, resend),
      ...(isStandIn && { isStandIn }),
    };
  });
  return await Promise.all(offered);
}
