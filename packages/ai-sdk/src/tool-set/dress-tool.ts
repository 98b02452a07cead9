import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { OfferedTool } from "@durable-mcp/sessions";
import { clientInfo, ownField } from "@durable-mcp/sessions/internal";
import type { FlexibleSchema, Tool } from "ai";
import { acceptWaiting, contentModelOutput, toldOutput } from "./model-output.ts";

/** A connection's tool as one of AI SDK: what its client makes of the same definition, with calls of the connection. */
export async function dressTool(tool: OfferedTool): Promise<Tool> {
  const { title, description, annotations, _meta } = tool.listed;
  const { schemas } = tool.on.definition.options;
  const typed = schemas?.[tool.tool] as object | undefined;
  const shownTitle = title ?? ownField(annotations, "title");
  const plain = {
    ...{ description, title: shownTitle },
    ...(!tool.isStandIn && { metadata: metadataOf(tool, shownTitle), _meta }),
    toModelOutput: ({ output }: { readonly output: unknown }) => contentModelOutput(output),
  };
  if (!typed || tool.isStandIn) {
    const inputSchema = asSchemaOfAi(closedSchema(tool));
    return dress(tool, { type: "dynamic", ...plain, inputSchema } as never);
  }
  const own = { ...plain, ...typed } as unknown as Tool;
  await refuseProvided(tool, own);
  return dress(tool, own);
}

/** What AI SDK's `jsonSchema` makes. A step that only lists and calls would load all of AI SDK for it. */
export const asSchemaOfAi = (jsonSchema: object) => ({
  [Symbol.for("vercel.ai.schema")]: true,
  ...{ _type: undefined, jsonSchema, validate: undefined },
});

function dress(tool: OfferedTool, own: Tool): Tool {
  const { mayWait, needsApproval } = tool;
  const toModelOutput = toldOutput(tool, own);
  return {
    ...own,
    execute: (input: unknown, use: object) => tool.call(input, use),
    ...(needsApproval !== undefined && { needsApproval }),
    ...(toModelOutput && { toModelOutput }),
    ...(mayWait && own.outputSchema && { outputSchema: acceptWaiting(own.outputSchema) }),
  };
}

/** What AI SDK tells of a tool of MCP in its events. */
function metadataOf({ listed, tool: toolName, on }: OfferedTool, title: unknown) {
  const { name: clientName } = clientInfo(on.definition.options);
  const hints = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
  const given = hints.flatMap((hint) => {
    const value = ownField(listed.annotations, hint);
    return value == null ? [] : [[hint, value] as const];
  });
  const app = appOf(listed["_meta"]);
  return {
    ...{ clientName, toolName },
    ...(title != null && { title }),
    ...(listed.annotations != null && { annotations: Object.fromEntries(given) }),
    ...(app && { app }),
  };
}

/** The page that a tool is shown with, of MCP Apps. */
function appOf(meta: unknown) {
  const ui = ownField(meta, "ui");
  const own = isRecord(ui) ? ui : {};
  const resourceUri = own["resourceUri"] ?? ownField(meta, "ui/resourceUri");
  if (typeof resourceUri !== "string" || !resourceUri.startsWith("ui://")) return undefined;
  const { visibility } = own;
  return {
    ...own,
    resourceUri,
    ...(Array.isArray(visibility) && {
      visibility: visibility.filter((one) => one === "model" || one === "app"),
    }),
    mimeType: "text/html;profile=mcp-app",
  };
}

/** As AI SDK's client has it. */
function closedSchema({ inputSchema }: OfferedTool) {
  const { properties = {} } = inputSchema as { readonly properties?: object };
  return { ...inputSchema, properties, additionalProperties: false };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a schema of the application that has a provided argument */
async function refuseProvided(tool: OfferedTool, { inputSchema }: Tool): Promise<void> {
  const { connection, tool: name, on } = tool;
  const { providedArguments = {} } = on.definition.options;
  const { asSchema } = await import("ai");
  const { properties } = await asSchema(inputSchema as FlexibleSchema).jsonSchema;
  const shown = Object.keys(providedArguments).find((argument) =>
    Object.hasOwn(properties ?? {}, argument),
  );
  if (shown === undefined) return;
  const field = `schemas.${name}.inputSchema`;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: ${field} has ${shown}, which providedArguments.${shown} supplies. Leave it out of the schema.`,
    { data: { field, connection } },
  );
}
