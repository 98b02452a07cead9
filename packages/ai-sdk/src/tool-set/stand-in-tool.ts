import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import type { Tool, ToolSet } from "ai";
import {
  type LiveConnection,
  authorizationRequired,
  describeStandIn,
  signInWords,
  standInName,
  followToolCalls,
  pathAround,
  waitBelow,
  markWaiting,
} from "@durable-mcp/sessions/internal";
import { plainModelOutput, waitingModelOutput } from "./model-output.ts";
import type { Execute } from "./connection-tools.ts";

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
