import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { OfferedTool } from "@durable-mcp/sessions";
import { clientInfo, ownField } from "@durable-mcp/sessions/internal";
import type { FlexibleSchema, JSONSchema7, Tool } from "ai";
import { acceptWaiting, contentModelOutput, toldOutput } from "./model-output.ts";

/** A connection's tool as one of AI SDK: the client's own, whose calls the connection makes. */
export function dressTool(tool: OfferedTool): Tool | Promise<Tool> | undefined {
  const own = tool.own as Tool | undefined;
  if (tool.isStandIn || (own && !("inputSchema" in own))) return dressPlain(tool);
  if (own === undefined || tool.on.definition.options.providedArguments === undefined)
    return own && dress(tool, own);
  return modelSchema(tool, own).then((inputSchema) => dress(tool, { ...own, inputSchema }));
}

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

/** A stand-in, or a tool on a session that is kept: what AI SDK's client makes of the same definition. */
async function dressPlain(tool: OfferedTool): Promise<Tool> {
  // AI SDK is a third of what this package loads.
  const { jsonSchema } = await import("ai");
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
    const inputSchema = jsonSchema(closedSchema(tool) as JSONSchema7);
    return dress(tool, { type: "dynamic", ...plain, inputSchema } as never);
  }
  const own = { ...plain, ...typed } as unknown as Tool;
  return dress(tool, { ...own, inputSchema: await modelSchema(tool, own) });
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

/**
 * The schema of a tool's input for the model, without arguments that the application supplies. The client's own has
 * them, because the client reads in it which arguments go into headers.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a schema of the application that has a provided argument
 */
async function modelSchema(tool: OfferedTool, own: Tool): Promise<Tool["inputSchema"]> {
  const { inputSchema } = own;
  const { connection, tool: name, on } = tool;
  const { providedArguments = {}, schemas } = on.definition.options;
  if (schemas === undefined)
    return { ...(inputSchema as object), jsonSchema: closedSchema(tool) } as never;
  const { asSchema } = await import("ai");
  const { properties } = await asSchema(inputSchema as FlexibleSchema).jsonSchema;
  const shown = Object.keys(providedArguments).find((argument) =>
    Object.hasOwn(properties ?? {}, argument),
  );
  if (shown === undefined) return inputSchema;
  const field = `schemas.${name}.inputSchema`;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: ${field} has ${shown}, which providedArguments.${shown} supplies. Leave it out of the schema.`,
    { data: { field, connection } },
  );
}
