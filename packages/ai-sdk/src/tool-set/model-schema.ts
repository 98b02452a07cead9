import { McpSessionError } from "@durable-mcp/core";
import type { FlexibleSchema, Tool } from "ai";
import { type LiveConnection, withoutProvided } from "@durable-mcp/sessions/internal";

/**
 * The schema of a tool's input for the model, of a tool that `@ai-sdk/mcp` made.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a schema of the application that has a provided argument
 */
export async function modelSchema(
  { name: connection, definition: { options } }: LiveConnection,
  tool: string,
  inputSchema: Tool["inputSchema"],
): Promise<Tool["inputSchema"]> {
  const { providedArguments } = options;
  if (providedArguments === undefined) return inputSchema;
  if (options.schemas === undefined) {
    const schema = inputSchema as { readonly jsonSchema: object | PromiseLike<object> };
    return {
      ...schema,
      jsonSchema: withoutProvided(options, await schema.jsonSchema),
    } as never;
  }
  // AI SDK is a third of what this package loads.
  const { asSchema } = await import("ai");
  const { properties } = await asSchema(inputSchema as FlexibleSchema).jsonSchema;
  const shown = Object.keys(providedArguments).find((name) =>
    Object.hasOwn(properties ?? {}, name),
  );
  if (shown === undefined) return inputSchema;
  const field = `schemas.${tool}.inputSchema`;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: ${field} has ${shown}, which providedArguments.${shown} supplies. Leave it out of the schema.`,
    { data: { field, connection } },
  );
}
