import type { McpSessionError } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import type { Tool, ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import { plainModelOutput, waitingModelOutput } from "./model-output.ts";
import type { Execute } from "./connection-tools.ts";
import { toolName } from "./tool-name.ts";

/** The name of the stand-in, after the connection's prefix. */
export const standInName = "sign_in";

/**
 * The one tool of a connection whose user has to sign in before its server lists the others. With it the model can say
 * that it needs them, and its call waits for the sign-in.
 *
 * @param cause what the listing failed with
 * @throws the cause, if it is another one, and for a required connection
 */
export async function standInTool(connection: LiveConnection, cause: unknown): Promise<ToolSet> {
  const { name, definition, signIn } = connection;
  const { description, toolNames, required } = definition.options;
  const error = authorizationRequired(cause, name);
  if (signIn === undefined || required === true || error === undefined) throw cause;
  connection.tell(error);
  // AI SDK is a third of what this package loads.
  const { jsonSchema } = await import("ai");
  const execute: Execute = async (input, { toolCallId } = {}) => {
    const call = toolCallId && { tool: standInName, input, toolCallId, isStandIn: true };
    return (call && (await signIn.park?.(call))) || inWords(name, error);
  };
  const tool = {
    type: "dynamic",
    description: `The tools of connection ${name} (${description}) can only be used when the user has signed in to it. Call this tool if you need them.`,
    inputSchema: jsonSchema({ type: "object", properties: {}, additionalProperties: false }),
    execute,
    toModelOutput: ({ output }) =>
      waitingCallOf(output)
        ? waitingModelOutput(output as WaitingResult)
        : plainModelOutput(output),
  } as Tool;
  // Without a prefix those of several connections would have one name.
  const names = toolNames?.prefix === false ? {} : { toolNames };
  return { [await toolName(name, standInName, names)]: tool };
}

/** For the model, where no call can wait. */
function inWords(connection: string, { data: { startUrl } }: McpSessionError): string {
  const where = startUrl === undefined ? "" : ` at ${startUrl}`;
  return `The user has to sign in to connection ${connection}${where}. Ask the user to do so. The connection's tools are there afterwards.`;
}

/** The result of a stand-in's call after the sign-in. */
export function signedInResult(connection: string) {
  const text = `The user has signed in to connection ${connection}. Its tools can be used now.`;
  return { content: [{ type: "text", text }] };
}
