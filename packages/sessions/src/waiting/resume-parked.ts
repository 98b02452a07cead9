/** How a call goes on that has waited for a sign-in. */

import { McpSessionError } from "@durable-mcp/core";
import { refusesUnprocessed, waitingCallOf } from "@durable-mcp/core/internal";
import type {
  ClaimedOutcome,
  ParkedCall,
  StoredCall,
  WaitingRecord,
} from "@durable-mcp/core/waiting/internal";
import type { CallEnvelope } from "../connection/call-envelope.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { isOwnAnswer, requestFailure } from "../events/request-failure.ts";
import { callTool } from "../tools/call-tool.ts";
import { signedInResult } from "../tools/stand-in-words.ts";
import { refuseChanged, whileAllowed } from "../tools/tool-approval.ts";
import { type StoredCalls, unlessOver } from "./stored-calls.ts";
import type { JudgedTool } from "../declare/tool-options.ts";

/** Whether a call waits for a sign-in. */
export function isParked(call: WaitingRecord): call is ParkedCall {
  return call.type === "call-waits-for-sign-in" && call.state === "waiting";
}

/**
 * Carries out a call that has waited for a sign-in, at most once. It waits on while the user has not signed in, where
 * its connection cannot be used, and if the server refuses it again.
 *
 * @param connection the call's; `undefined` if it is not declared any more
 * @param tool the call's tool as it is listed now
 * @returns the call as it is then
 * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor` or `approval`
 */
export async function resumeParked(
  { callsOf }: Pick<StoredCalls, "callsOf">,
  connection: LiveConnection | undefined,
  parked: StoredCall,
  tool: JudgedTool | undefined,
): Promise<StoredCall> {
  const { call: waits, revision } = parked;
  const { id, connection: name, url, isStandIn } = waits;
  // The call is for the server that it was made for.
  if (!isParked(waits) || connection?.signIn?.url !== url) return parked;
  if ((await connection.signIn.pending()) !== undefined) return parked;
  connection.abortSignal.throwIfAborted();
  const calls = await callsOf(waits);
  const own = { call: waits, revision };
  if (isStandIn) await calls.settle(own, { result: signedInResult(name) });
  else {
    // What fails now is no outcome of the call.
    if (!(await isConnected(connection))) return parked;
    const { annotations, toolCallId, request } = waits;
    const { name: called, arguments: input } = request.params;
    const before = { name: String(called), annotations };
    const call = { input, use: { toolCallId } };
    const refused = await refuseChanged(connection, [before, tool ?? { name: before.name }], call);
    if (refused !== undefined) await calls.settle(own, { result: refused });
    else {
      const allowed = whileAllowed(connection, before, call);
      const send = async (claimed: StoredCall<ParkedCall>) =>
        await carryOutCall(connection, claimed, allowed);
      // Nothing is sent if another process was first.
      await calls.sendClaimed(own, send).catch(unlessOver);
    }
  }
  return (await calls.read(id)) ?? parked;
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

/** Makes a call that has waited for a sign-in, once, and tells its outcome. Never rejects. */
async function carryOutCall(
  connection: LiveConnection,
  claimed: StoredCall<ParkedCall>,
  allowed: CallEnvelope["allowed"],
): Promise<ClaimedOutcome> {
  const { request, toolCallId } = claimed.call;
  const { name, arguments: input } = request.params;
  try {
    const args = input as Record<string, unknown>;
    const waited = { toolCallId, claimed, allowed };
    const result = await callTool(connection, String(name), args, {}, waited);
    // The connection's fetch has kept the server's questions.
    if (waitingCallOf(result)) return { type: "kept" };
    return { type: "settles", answer: { result } };
  } catch (error) {
    return failedCall(error);
  }
}

/** Codes that say that the server has not carried a call out. */
const notCarriedOut: ReadonlySet<string> = new Set([
  "AUTHORIZATION_REQUIRED",
  "CONNECTION_INVALID",
  "PRINCIPAL_REQUIRED",
  "SESSION_LOST",
]);

function failedCall(error: unknown): ClaimedOutcome {
  if (isOwnAnswer(error)) {
    const { code, message, data } = error;
    const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message } });
    // Clients forget the status.
    if (refusesUnprocessed({ status: 400, body })) return { type: "not-sent", error };
    return {
      type: "settles",
      answer: { error: { code, message, ...(data !== undefined && { data }) } },
    };
  }
  if (!McpSessionError.isInstance(error)) return { type: "unknown", error };
  const { code, cause, data } = error;
  // A server may answer a call that it has carried out with a redirect.
  const isRefused =
    code === "CONNECTION_UNAVAILABLE" &&
    data.reason !== "redirect" &&
    !requestFailure(cause)?.mayHaveRun;
  const isCertain = isRefused || notCarriedOut.has(code);
  return { type: isCertain ? "not-sent" : "unknown", error };
}
