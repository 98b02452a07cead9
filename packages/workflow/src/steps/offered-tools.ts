import type { OfferedTool as ToolOfRun } from "@durable-mcp/sessions";
import type { OfferedTool } from "../step-protocol.ts";

/** The tools of one connection as plain values. */
export async function plainTools(offered: readonly ToolOfRun[]): Promise<OfferedTool[]> {
  return await Promise.all(
    offered.map(async (each) => {
      const { name, tool, listed, mayRunTwice, isStandIn } = each;
      const {
        annotations,
        description,
        title = (annotations as { title?: string })?.title,
      } = listed;
      return {
        ...{ name, tool },
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...{ inputSchema: await schemaOf(each), mayRunTwice },
        ...(isStandIn && { isStandIn }),
      };
    }),
  );
}

/** JSON Schema. AI SDK's tools take no other arguments than those that it names. */
async function schemaOf({ inputSchema, on, tool, isStandIn }: ToolOfRun) {
  const { schemas } = on.definition.options;
  if (schemas !== undefined && !isStandIn) {
    const { asSchema } = await import("ai");
    return (await asSchema(schemas[tool]!.inputSchema).jsonSchema) as Record<string, unknown>;
  }
  const { properties = {} } = inputSchema as { readonly properties?: object };
  return { ...inputSchema, properties, additionalProperties: false };
}
