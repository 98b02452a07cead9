import type { Reply } from "../base/reply.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { Caller } from "../live/session-directory.ts";
import { TooManyOfPrincipal } from "../stateless/entrance.ts";
import { SessionsOnly } from "../stateless/begin-exchange.ts";
import type { ClientBody } from "./client-message.ts";
import { tooMany, unavailable } from "./http-answer.ts";
import { type ServeContext, sessionIdRequired } from "./serve-context.ts";

interface ModernRequest {
  readonly request: ServedRequest;
  /** Of a POST. */
  readonly body: ClientBody | undefined;
  readonly caller: Caller;
}

/** Answers a request of a client without sessions. */
export async function serveStateless(
  { stateless, life, emit, options }: ServeContext,
  { request, body, caller }: ModernRequest,
): Promise<Reply | Response> {
  const message = body?.isBatch ? undefined : body?.requests[0];
  if (life.phase !== "serving" && message?.method === "subscriptions/listen") {
    emit({ type: "refused", reason: "draining" });
    return unavailable("This server is shutting down. Listen on another replica.");
  }
  const authInfo = await options.authInfo?.(request.request);
  try {
    return await stateless!.serve({ request, value: body?.value, message, caller, authInfo });
  } catch (error) {
    if (error instanceof TooManyOfPrincipal) {
      emit({ type: "refused", reason: "too-many-requests" });
      return tooMany("Too many requests in flight (limits.requestsPerPrincipal). Wait for one.");
    }
    if (!(error instanceof SessionsOnly)) throw error;
    emit({ type: "failed", error });
    // As an old server answers. Not all clients fall back to a session after −32022.
    return sessionIdRequired();
  }
}
