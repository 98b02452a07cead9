import { isRecord } from "../base/json-values.ts";
import type { ClientParams } from "../session/session-life.ts";
import { type ActiveSessionSnapshot, LATEST_SESSION_VERSION } from "../session/session-snapshot.ts";

/** What a client says of itself in `initialize`. */
export function paramsOfInitialize(params: Record<string, unknown> = {}): ClientParams {
  const { protocolVersion, capabilities, clientInfo } = params;
  return {
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : LATEST_SESSION_VERSION,
    capabilities: isRecord(capabilities) ? capabilities : {},
    clientInfo: isRecord(clientInfo) ? clientInfo : { name: "durable-mcp", version: "1" },
  };
}

/** The probe's `_meta` carries what `initialize` carries in its params. */
export function paramsOfProbe(meta: unknown): ClientParams {
  const fields = isRecord(meta) ? meta : {};
  return paramsOfInitialize({
    capabilities: fields["io.modelcontextprotocol/clientCapabilities"],
    clientInfo: fields["io.modelcontextprotocol/clientInfo"],
  });
}

/** Who we say we are when no client has said who it is, as with clients that resume by themselves. */
export function paramsOfLost(lost: ActiveSessionSnapshot | undefined): ClientParams {
  return paramsOfInitialize({
    protocolVersion: lost?.initializeResult.protocolVersion,
    capabilities: lost?.clientCapabilities,
  });
}
