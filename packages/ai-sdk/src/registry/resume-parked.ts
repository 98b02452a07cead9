import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { JudgedTool } from "../connection/call-envelope.ts";
import type { StoredCalls } from "../connection/stored-calls.ts";
import { carryOutCall } from "../tools/carry-out-call.ts";
import { refuseChanged, whileAllowed } from "../tools/tool-approval.ts";
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
 * @param tool the call's tool as it is listed now
 * @returns the call as it is then
 * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor` or `approval`
 */
export async function resumeParked(
  { stored, find }: ResumeParts,
  parked: StoredCall,
  tool: JudgedTool | undefined,
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
    if (!(await isConnected(connection))) return parked;
    const { annotations, toolCallId, request } = parked.call;
    const { name: called, arguments: input } = request.params;
    const before = { name: String(called), annotations };
    const call = { input, use: { toolCallId } };
    const refused = await refuseChanged(connection, [before, tool ?? { name: before.name }], call);
    if (refused !== undefined) await stored.settle(parked, refused);
    else
      await stored.carryOut(parked, (claimed) =>
        carryOutCall(connection, claimed, whileAllowed(connection, before, call)),
      );
  }
  return (await stored.read(id)) ?? parked;
}

async function isConnected(connection: LiveConnection): Promise<boolean> {
  try {
    await connection.client();
    return true;
  } catch (error) {
    connection.abortSignal.throwIfAborted();
    connection.tell(error);
    return false;
  }
}
