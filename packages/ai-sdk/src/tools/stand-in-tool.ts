import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import type { Tool, ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import { plainModelOutput, waitingModelOutput } from "./model-output.ts";
import type { Execute } from "./connection-tools.ts";
import { followToolCalls, pathAround, waitBelow, markWaiting } from "./tool-call-scope.ts";
import { toolName } from "./tool-name.ts";

/** The name of the stand-in, after the connection's prefix. */
export const standInName = "sign_in";

/** The stand-in as a server would list it, and its name for the model. */
export async function describeStandIn({ name, definition }: LiveConnection) {
  const { description, toolNames } = definition.options;
  // Without a prefix those of several connections would have one name.
  const names = toolNames?.prefix === false ? {} : { toolNames };
  const tool = {
    name: standInName,
    description: `The tools of connection ${name} (${description}) can only be used when the user has signed in to it. Call this tool if you need them.`,
    inputSchema: { type: "object" as const, properties: {}, additionalProperties: false },
  };
  return { tool, toolName: await toolName(name, standInName, names) };
}

/**
 * The one tool of a connection whose user has to sign in before its server lists the others. With it the model can say
 * that it needs them, and its call waits for the sign-in.
 *
 * @param startUrl where the sign-in starts
 */
export async function standInTool(
  connection: LiveConnection,
  startUrl: string | undefined,
): Promise<ToolSet> {
  const { name, signIn } = connection;
  if (signIn?.park) followToolCalls();
  const standIn = await describeStandIn(connection);
  const { description, inputSchema } = standIn.tool;
  // AI SDK is a third of what this package loads.
  const { jsonSchema } = await import("ai");
  const execute: Execute = async (input, { toolCallId } = {}) => {
    const path = pathAround(toolCallId);
    const call = toolCallId && { tool: standInName, input, toolCallId, path, isStandIn: true };
    const parked = call && (await signIn?.park?.(call));
    return parked ? await waitBelow(parked, toolCallId, signIn) : signInWords(name, startUrl);
  };
  const tool = {
    type: "dynamic",
    description,
    inputSchema: jsonSchema(inputSchema),
    execute,
    toModelOutput: ({ output }) =>
      waitingCallOf(output)
        ? waitingModelOutput(output as WaitingResult)
        : plainModelOutput(output),
  } as Tool;
  return { [standIn.toolName]: markWaiting(tool) };
}

/** For the model, where no call can wait. */
export function signInWords(connection: string, startUrl: string | undefined): string {
  const where = startUrl === undefined ? "" : ` at ${startUrl}`;
  return `The user has to sign in to connection ${connection}${where}. Ask the user to do so. The connection's tools are there afterwards.`;
}

/** The result of a stand-in's call after the sign-in. */
export function signedInResult(connection: string) {
  const text = `The user has signed in to connection ${connection}. Its tools can be used now.`;
  return { content: [{ type: "text", text }] };
}

/**
 * The same for a connection whose tools could not be listed.
 *
 * @param cause what the listing failed with
 * @throws the cause, if it is another one, and for a required connection
 */
export async function standInFor(connection: LiveConnection, cause: unknown): Promise<ToolSet> {
  const required = authorizationRequired(cause, connection.name);
  const mayStandIn = connection.signIn && connection.definition.options.required !== true;
  if (!mayStandIn || required === undefined) throw cause;
  connection.tell(required);
  return await standInTool(connection, required.data.startUrl);
}
