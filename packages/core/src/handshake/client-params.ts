import { isRecord } from "../base/json-values.ts";
import type { ClientParams } from "../session/session-life.ts";
import { type ActiveSessionSnapshot, LATEST_SESSION_VERSION } from "../session/session-snapshot.ts";

/** A client's own description in `initialize`. */
export function paramsOfInitialize(params: Record<string, unknown> = {}): ClientParams {
  const { protocolVersion, capabilities, clientInfo } = params;
  return {
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : LATEST_SESSION_VERSION,
    capabilities: isRecord(capabilities) ? capabilities : {},
    clientInfo: isRecord(clientInfo) ? clientInfo : { name: "durable-mcp", version: "1" },
  };
}

/** The same description in the `_meta` of a probe. */
export function paramsOfProbe(meta: unknown): ClientParams {
  const fields = isRecord(meta) ? meta : {};
  return paramsOfInitialize({
    capabilities: fields["io.modelcontextprotocol/clientCapabilities"],
    clientInfo: fields["io.modelcontextprotocol/clientInfo"],
  });
}

/** The description if no client has given one, because clients that resume by themselves do not. */
export function paramsOfLost(lost: ActiveSessionSnapshot | undefined): ClientParams {
  return paramsOfInitialize({
    protocolVersion: lost?.initializeResult.protocolVersion,
    capabilities: lost?.clientCapabilities,
  });
}
