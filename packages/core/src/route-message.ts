import { isRequest, type JsonRpcMessage, methodOf, revisionIn } from "./wire/json-rpc.ts";
import type { OutgoingRequest } from "./wire/server-endpoint.ts";

/**
 * The way of a client's request to the connection's URL:
 *
 * - `pass`, `pass-on-session`: it is sent unchanged, without a session or with the current session's id.
 * - `close`: it is answered with 204, because closing a client must not end the session.
 * - `listen`, `resume`: it opens the stream of server messages, or resumes a stream that broke.
 * - `except`: it is sent on the session of the excepted requests.
 * - `probe`, `initialize`, `initialized`: the handshake answers it, from the session if it can.
 * - `list`: it is answered from the kept list, or by an exchange.
 * - `exchange`: it is sent on the session. Without a session, one is made first.
 */
export type Route =
  | "pass"
  | "pass-on-session"
  | "close"
  | "listen"
  | "resume"
  | "except"
  | "probe"
  | "initialize"
  | "initialized"
  | "list"
  | "exchange";

/**
 * Decides the way of a request. docs/concepts.md has the same as a table.
 *
 * @param message the JSON-RPC message in the body of a POST; `undefined` for a batch, and for any other
 *   body
 * @param isStateless whether the server is known to have no sessions
 * @param isExcepted whether a message goes to the session of the excepted requests
 */
export function routeMessage(
  { method: httpMethod, headers }: Pick<OutgoingRequest, "method" | "headers">,
  message: JsonRpcMessage | undefined,
  isStateless: boolean,
  isExcepted: (message: JsonRpcMessage) => boolean,
): Route {
  if (isStateless) return "pass";
  if (httpMethod === "DELETE") return "close";
  if (httpMethod === "GET") return headers.has("last-event-id") ? "resume" : "listen";
  if (message === undefined) return "pass-on-session";
  if (isExcepted(message)) return "except";
  const method = methodOf(message);
  if (method === "notifications/initialized") return "initialized";
  if (method === "server/discover" && isRequest(message)) return "probe";
  if (method === "initialize" && isRequest(message)) return "initialize";
  if (revisionIn(message) !== undefined) return "pass";
  return method === "tools/list" && isRequest(message) ? "list" : "exchange";
}
