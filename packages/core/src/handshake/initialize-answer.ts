import { isRecord } from "../base/json-values.ts";
import type { LiveSession } from "../session/live-session.ts";
import { initializeUnusable } from "../session/session-errors.ts";
import { receivedSessionId } from "../session/session-headers.ts";
import type { ClientParams } from "../session/session-life.ts";
import {
  type ActiveSessionSnapshot,
  FIRST_STATELESS_VERSION,
  isKeepable,
  isSessionId,
  LATEST_SESSION_VERSION,
} from "../session/session-snapshot.ts";
import type { JsonRpcResponse } from "../wire/json-rpc.ts";

/**
 * The session that a successful answer to `initialize` opens.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if it cannot be kept
 */
export function toLiveSession(
  url: URL,
  response: Response,
  initializeResult: ActiveSessionSnapshot["initializeResult"],
  params: ClientParams,
): LiveSession {
  const sessionId = receivedSessionId(response);
  if (sessionId === undefined) return { kind: "sessionless", initializeResult };
  if (!isSessionId(sessionId)) {
    const what = "a session id that is not 1 to 1024 visible ASCII characters";
    throw initializeUnusable(url, response.status, what);
  }
  const clientCapabilities = params.capabilities;
  const session = { kind: "session", sessionId, initializeResult, clientCapabilities } as const;
  if (isKeepable({ version: 1, url: url.href, ...session })) return session;
  const what = "more than 900,000 characters or 64 levels of JSON, which cannot be kept";
  throw initializeUnusable(url, response.status, what);
}

const unsupportedProtocolVersion = -32022;

/**
 * Whether a refusal of `initialize` means that the server has no revision with sessions.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
export function speaksOnlyStatelessVersions(message: object | undefined): boolean {
  const error = (message as JsonRpcResponse | undefined)?.error;
  if (!isRecord(error) || error["code"] !== unsupportedProtocolVersion) return false;
  const supported = isRecord(error["data"]) ? error["data"]["supported"] : undefined;
  return (
    !Array.isArray(supported) || supported.every((version) => version >= FIRST_STATELESS_VERSION)
  );
}

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
