import {
  type ClientCapabilities,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import type { EmitServerEvent } from "../base/server-event.ts";
import { fingerprint, hashSessionId } from "../base/session-id.ts";
import type { Caller, FoundSession, SessionDirectory } from "../live/session-directory.ts";

/** Starts a session for a request whose id is unknown. */
export type Adopt = (unknownId: string, request: Request, caller: Caller) => Promise<FoundSession>;

/** Unknown ids that are remembered, to notice a client that keeps sending one. */
const rememberedIds = 1_000;

/** What adopted clients call themselves, as far as the server is told. */
export const adoptedClientInfo = { name: "adopted-client", version: "unknown" };

export function createAdopt({
  directory,
  capabilities,
  emit,
}: {
  directory: SessionDirectory;
  capabilities: ClientCapabilities;
  emit: EmitServerEvent;
}): Adopt {
  const isRepeated = createRepetitionCheck();
  return async (unknownId, request, caller) => {
    const protocolVersion = revisionOf(request);
    const initialize = { protocolVersion, capabilities, clientInfo: adoptedClientInfo };
    const session = await directory.adopt(caller, initialize, protocolVersion);
    const unknown = fingerprint((await hashSessionId(unknownId)) ?? "");
    const adopted = fingerprint(session.hash);
    emit({ type: "adopted", unknown, session: adopted, again: isRepeated(unknown) });
    return session;
  };
}

/** The protocol revision that a request names; without one, the one that the specification names. */
export function revisionOf(request: Request): string {
  const header = request.headers.get("mcp-protocol-version");
  const isKnown = header !== null && SUPPORTED_PROTOCOL_VERSIONS.includes(header);
  return isKnown ? header : DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
}

/** Says whether it was asked about a text before, as far as it remembers. */
export function createRepetitionCheck(): (text: string) => boolean {
  const seen = new Set<string>();
  return (text) => {
    const isRepeated = seen.delete(text);
    seen.add(text);
    if (seen.size > rememberedIds) seen.delete(seen.values().next().value!);
    return isRepeated;
  };
}
