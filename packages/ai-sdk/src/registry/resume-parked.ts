import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { JudgedTool } from "../connection/approved-calls.ts";
import type { StoredCalls } from "../connection/stored-calls.ts";
import { carryOutCall } from "../tools/carry-out-call.ts";
import { listServerTools } from "../tools/connection-tools.ts";
import { refuseChanged } from "../tools/tool-approval.ts";
import { signedInResult } from "../tools/stand-in-tool.ts";

interface ResumeParts {
  readonly stored: StoredCalls;
  /** Finds a connection for a use; `undefined` if it is not declared any more. */
  readonly find: (name: string) => LiveConnection | undefined;
}

/** Whether a call waits for a sign-in. */
export function isParked({ call: { kind, state } }: StoredCall): boolean {
  return kind === "authorization" && state === "waiting";
}

/**
 * Carries out a call that has waited for a sign-in, at most once. It waits on while the user has not signed in, where
 * its connection cannot be used, and if the server refuses it again.
 *
 * @returns the call as it is then
 * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor`
 */
export async function resumeParked(
  { stored, find }: ResumeParts,
  parked: StoredCall,
): Promise<StoredCall> {
  const { id, connection: name, url, isStandIn } = parked.call;
  const connection = find(name);
  // The call is for the server that it was made for.
  if (connection?.signIn?.url !== url) return parked;
  if ((await connection.signIn.pending()) !== undefined) return parked;
  connection.abortSignal.throwIfAborted();
  if (isStandIn) await stored.settle(parked, signedInResult(name));
  else {
    // What fails now is no outcome of the call.
    const tool = await findTool(connection, parked);
    if (tool === undefined) return parked;
    const refused = await refuseParked(connection, parked, tool);
    if (refused !== undefined) await stored.settle(parked, refused);
    else await stored.carryOut(parked, (claimed) => carryOutCall(connection, claimed));
  }
  return (await stored.read(id)) ?? parked;
}

/** The tool of a call as its server has it now; `undefined` if the connection cannot be used. */
async function findTool(
  connection: LiveConnection,
  { call }: StoredCall,
): Promise<JudgedTool | undefined> {
  const name = String(call.request.params["name"]);
  try {
    await connection.client();
    if (typeof connection.definition.options.approval !== "function") return { name };
    const { listed } = await listServerTools(connection);
    return listed.find((tool) => tool.name === name) ?? { name };
  } catch (error) {
    connection.abortSignal.throwIfAborted();
    connection.tell(error);
    return undefined;
  }
}

/** The result of a call that may not run any more. It was approved, or needed no approval, before it waited. */
async function refuseParked(connection: LiveConnection, { call }: StoredCall, tool: JudgedTool) {
  const { request, annotations, toolCallId } = call;
  const { arguments: input } = request.params;
  const before = { name: tool.name, annotations };
  return await refuseChanged(connection, before, { tool, input, use: { toolCallId } });
}
