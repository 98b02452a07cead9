import {
  type ClientCapabilities,
  defaultProtocolVersion,
  sessionProtocolVersions,
} from "../base/mcp-types.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { fingerprint, hashSessionId } from "../base/session-id.ts";
import type { Caller, FoundSession, SessionDirectory } from "../live/session-directory.ts";

/** Starts a session for a request whose id is unknown. */
export type Adopt = (
  unknownId: string,
  request: ServedRequest,
  caller: Caller,
) => Promise<FoundSession>;

export function createAdopt(
  directory: SessionDirectory,
  capabilities: ClientCapabilities,
  emit: EmitServerEvent,
): Adopt {
  const report = createAdoptionReport(emit);
  return async (unknownId, request, caller) => {
    const initialize = adoptedInitialize(request, capabilities);
    const session = await directory.adopt(caller, initialize);
    await report(unknownId, session.sessionId);
    return session;
  };
}

/**
 * The parameters of the `initialize` that an adopted client did not send. The revision is the one
 * that its request names, and without one the default of the specification.
 */
function adoptedInitialize(request: ServedRequest, capabilities: ClientCapabilities) {
  const header = request.header("mcp-protocol-version");
  const isKnown = header !== null && sessionProtocolVersions.includes(header);
  const protocolVersion = isKnown ? header : defaultProtocolVersion;
  const clientInfo = { name: "adopted-client", version: "unknown" };
  return { protocolVersion, capabilities, clientInfo };
}

/** How many unknown ids are remembered, to notice a client that keeps sending one. */
const rememberedIds = 1_000;

/** Emits `adopted`, and whether the unknown id was adopted before. */
function createAdoptionReport(emit: EmitServerEvent) {
  const seen = new Set<string>();
  return async (unknownId: string, sessionId: string): Promise<void> => {
    const unknown = fingerprint(await hashSessionId(unknownId));
    const session = fingerprint(await hashSessionId(sessionId));
    const again = seen.delete(unknown);
    seen.add(unknown);
    if (seen.size > rememberedIds) seen.delete(seen.values().next().value!);
    emit({ type: "adopted", unknown, session, again });
  };
}
