import { McpSessionError } from "@durable-mcp/core";
import { refusesUnprocessed, waitingCallOf } from "@durable-mcp/core/internal";
import type { ClaimedOutcome, StoredCall } from "@durable-mcp/core/waiting/internal";
import type { CallEnvelope } from "../connection/call-envelope.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { isOwnAnswer, requestFailure } from "../errors/request-failure.ts";
import { callTool } from "./call-tool.ts";

/** Makes a call that has waited for a sign-in, once, and says what became of it. Never rejects. */
export async function carryOutCall(
  connection: LiveConnection,
  claimed: StoredCall,
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
  "ERA_UNSUPPORTED",
  "FETCH_REQUIRED",
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
  const isRefused =
    error.code === "CONNECTION_UNAVAILABLE" && !requestFailure(error.cause)?.mayHaveRun;
  const isCertain = isRefused || notCarriedOut.has(error.code);
  return { type: isCertain ? "not-sent" : "unknown", error };
}
