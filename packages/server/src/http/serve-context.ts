import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import type { HandlerContext } from "../live/handler-context.ts";
import type { Caller, FoundSession, SessionDirectory } from "../live/session-directory.ts";
import type { SessionHandlerOptions } from "../live/session-handler-options.ts";
import type { Adopt } from "./adopt-session.ts";
import type { HandlerLife } from "./handler-life.ts";
import { errorAnswer, sessionNotFound } from "./http-answer.ts";

/** One handler, for the functions that serve its requests. */
export interface ServeContext extends HandlerContext {
  readonly options: Pick<SessionHandlerOptions, "principal" | "authInfo" | "stateless">;
  readonly directory: SessionDirectory;
  readonly life: HandlerLife;
  /** For requests with an unknown id, unless they get 404. */
  readonly adopt: Adopt | undefined;
}

/** The session of a GET or a DELETE, or its refusal. */
export async function sessionOf(
  { directory }: ServeContext,
  request: Request,
  caller: Caller,
): Promise<FoundSession | Response> {
  const sessionId = request.headers.get("mcp-session-id");
  if (sessionId === null) return sessionIdRequired();
  const session = await directory.find(sessionId, caller);
  if (!session) return sessionNotFound();
  const version = request.headers.get("mcp-protocol-version");
  if (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return session;
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
  const message = `Bad Request: Unsupported protocol version (supported versions: ${supported})`;
  return errorAnswer(400, -32000, message);
}

export function sessionIdRequired(): Response {
  return errorAnswer(400, -32000, "Bad Request: Mcp-Session-Id header is required");
}
