import { isAuthOrOutage, toResponse, toResponseFor } from "../session/buffered-answer.ts";
import { sessionLost, sessionRefused } from "../session/handshake-errors.ts";
import type { Handshake } from "./handshake.ts";
import { isRecord } from "../base/json-values.ts";
import { isRequest, type JsonRpcId, type JsonRpcMessage } from "../wire/json-rpc.ts";
import { emptyAnswer, methodNotFoundAnswer, resultAnswer } from "../wire/local-answer.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { EmitSessionEvent } from "../session/session-event.ts";
import { type ClientParams, saveSnapshot, type SlotState } from "../session/session-slot.ts";
import { LATEST_SESSION_VERSION } from "../session/session-snapshot.ts";

/**
 * Answers a client's handshake. With a session at hand nothing of it reaches the network: the
 * probe is answered as an old server would, `initialize` from the saved result, `initialized`
 * with 202. Without one the fetch makes the session, prompted by whichever message comes first.
 *
 * Resolves to `undefined` for a message that is no part of the handshake, and to `"pass"` for a
 * probe that the server should see itself.
 */
export function createClientHandshake({
  state,
  url,
  handshake,
  emit,
}: {
  state: SlotState;
  url: URL;
  handshake: Handshake;
  emit: EmitSessionEvent;
}): (message: JsonRpcMessage, request: OutgoingRequest) => Promise<Response | "pass" | undefined> {
  const discover = async (id: JsonRpcId, request: OutgoingRequest) => {
    if (state.live !== undefined || state.opened !== undefined) return methodNotFoundAnswer(id);
    const opening = await handshake.open(request, request.signal);
    if ("opened" in opening) return methodNotFoundAnswer(id);
    // A refused login or an outage says nothing about the server's revisions; anything else may.
    return isAuthOrOutage(opening.refused) ? toResponseFor(id, opening.refused) : ("pass" as const);
  };

  const initialize = async (id: JsonRpcId, request: OutgoingRequest) => {
    discardNewerSnapshot(state, emit);
    const current = state.live ?? state.opened;
    state.isInUse ||= current !== undefined;
    if (current !== undefined) return resultAnswer(id, current.initializeResult);
    const opening = await handshake.open(request, request.signal);
    if ("opened" in opening) return resultAnswer(id, opening.opened.initializeResult);
    if (opening.stateless) throw eraUnsupported(url);
    // A client would take this for an old server and fall back to HTTP+SSE.
    if (state.lost !== undefined && !isAuthOrOutage(opening.refused)) {
      throw sessionLost("initialize", url, opening.refused.status);
    }
    return toResponseFor(id, opening.refused);
  };

  const initialized = async (request: OutgoingRequest) => {
    if (state.live !== undefined) return emptyAnswer(202);
    const confirmation = await handshake.ensure(request, request.signal);
    if ("live" in confirmation) return emptyAnswer(202);
    if (isAuthOrOutage(confirmation.refused)) return toResponse(confirmation.refused);
    throw sessionRefused(state, "notifications/initialized", url, confirmation.refused.status);
  };

  return async (message, request) => {
    if (!("method" in message)) return undefined;
    if (isRequest(message) && message.method === "server/discover") {
      state.clientParams = paramsOfProbe(message.params?.["_meta"]);
      return await discover(message.id, request);
    }
    if (isRequest(message) && message.method === "initialize") {
      state.clientParams = paramsOfInitialize(message.params);
      return await initialize(message.id, request);
    }
    return message.method === "notifications/initialized" ? await initialized(request) : undefined;
  };
}

/**
 * A client that is older than the saved session could not speak its revision; it would refuse
 * the result for good, so the session is given up, unless another client is using it.
 */
function discardNewerSnapshot(state: SlotState, emit: EmitSessionEvent): void {
  const { snapshot, clientParams } = state;
  if (snapshot?.kind !== "session" || clientParams === undefined || state.isInUse) return;
  if (clientParams.protocolVersion >= snapshot.initializeResult.protocolVersion) return;
  state.live = undefined;
  saveSnapshot(state, undefined);
  emit({ type: "discarded", reason: "protocol-version" });
}

function eraUnsupported(url: URL): McpSessionError {
  return new McpSessionError(
    "ERA_UNSUPPORTED",
    `initialize at ${url.origin} was refused: the server only speaks revisions without sessions (2026-07-28 and later), and this client did not probe for them with server/discover. Use @ai-sdk/mcp 2, or @modelcontextprotocol/client with versionNegotiation: { mode: "auto" }.`,
    { data: { method: "initialize", origin: url.origin } },
  );
}

/** The probe's `_meta` carries what `initialize` carries in its params. */
function paramsOfProbe(meta: unknown): ClientParams {
  const fields = isRecord(meta) ? meta : {};
  return toClientParams(
    LATEST_SESSION_VERSION,
    fields["io.modelcontextprotocol/clientCapabilities"],
    fields["io.modelcontextprotocol/clientInfo"],
  );
}

function paramsOfInitialize(params: Record<string, unknown> = {}): ClientParams {
  const { protocolVersion, capabilities, clientInfo } = params;
  return toClientParams(
    typeof protocolVersion === "string" ? protocolVersion : LATEST_SESSION_VERSION,
    capabilities,
    clientInfo,
  );
}

function toClientParams(
  protocolVersion: string,
  capabilities: unknown,
  clientInfo: unknown,
): ClientParams {
  return {
    protocolVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
    clientInfo: isRecord(clientInfo) ? clientInfo : { name: "durable-mcp", version: "1" },
  };
}
