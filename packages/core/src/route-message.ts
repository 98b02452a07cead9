import { isRecord } from "./base/json-values.ts";
import { isRequest, type JsonRpcMessage, methodOf, paramsOf } from "./wire/json-rpc.ts";
import type { OutgoingRequest } from "./wire/outgoing-request.ts";

/**
 * Where a client's request to the connection's URL goes:
 *
 * - `pass`, `pass-on-session`: out as it is, on no session or with the id of the session in use.
 * - `close`: answered 204, for closing a client must not end the session.
 * - `listen`, `resume`: to the stream of server messages, or to one that broke.
 * - `except`: to the session of the excepted requests.
 * - `probe`, `initialize`, `initialized`: to the handshake, which may answer from the session.
 * - `list`: answered from the kept list, or an exchange.
 * - `exchange`: out on the session, made if need be.
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
 * Decides what is answered here, what goes out on the session, and what is let through: the table
 * in docs/concepts.md.
 *
 * @param message the JSON-RPC message in the body of a POST; `undefined` for a batch, and for a body
 *   that is none
 * @param options.isStateless whether the server is known to have no sessions
 * @param options.isExcepted whether a message goes to the session of the excepted requests
 */
export function routeMessage(
  { method: httpMethod, headers }: Pick<OutgoingRequest, "method" | "headers">,
  message: JsonRpcMessage | undefined,
  {
    isStateless,
    isExcepted,
  }: {
    readonly isStateless: boolean;
    readonly isExcepted: (message: JsonRpcMessage) => boolean;
  },
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
  if (isOfStatelessEra(message)) return "pass";
  return method === "tools/list" && isRequest(message) ? "list" : "exchange";
}

/** Requests of the revisions without sessions name their revision themselves. */
function isOfStatelessEra(message: JsonRpcMessage): boolean {
  const meta = paramsOf(message)?.["_meta"];
  return isRecord(meta) && Object.hasOwn(meta, "io.modelcontextprotocol/protocolVersion");
}
