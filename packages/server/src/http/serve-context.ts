import { sessionProtocolVersions } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import type { Caller, FoundSession, SessionDirectory } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../author/session-handler-options.ts";
import type { StatelessServer } from "../stateless/stateless-server.ts";
import type { Adopt } from "./adopt-session.ts";
import type { HandlerLife } from "./handler-life.ts";
import { errorAnswer, sessionNotFound } from "./http-answer.ts";

/** One handler, for the functions that serve its requests. */
export interface ServeContext extends HandlerContext {
  readonly options: Pick<SessionHandlerOptions, "principal" | "authInfo">;
  readonly directory: SessionDirectory;
  /** For clients without sessions, unless these fall back to one. */
  readonly stateless: StatelessServer | undefined;
  readonly life: HandlerLife;
  /** For requests with an unknown id, unless they get 404. */
  readonly adopt: Adopt | undefined;
}

/** The session of a GET or a DELETE, or its refusal. */
export async function sessionOf(
  { directory }: ServeContext,
  request: ServedRequest,
  caller: Caller,
): Promise<{ session: FoundSession } | { refusal: Reply }> {
  const sessionId = request.header("mcp-session-id");
  if (sessionId === null) return { refusal: sessionIdRequired() };
  const session = await directory.find(sessionId, caller);
  if (!session) return { refusal: sessionNotFound() };
  const refusal = checkVersion(request);
  return refusal ? { refusal } : { session };
}

/** The refusal of a request within a session whose header names a revision without sessions. */
export function checkVersion(request: ServedRequest): Reply | undefined {
  const version = request.header("mcp-protocol-version");
  if (version === null || sessionProtocolVersions.includes(version)) return undefined;
  const supported = sessionProtocolVersions.join(", ");
  const message = `Bad Request: Unsupported protocol version (supported versions: ${supported})`;
  return errorAnswer(400, -32000, message);
}

export function sessionIdRequired(): Reply {
  return errorAnswer(400, -32000, "Bad Request: Mcp-Session-Id header is required");
}
