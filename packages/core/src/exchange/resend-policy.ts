import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { SessionLoss } from "../session/lost-session.ts";

/**
 * Whether a request that met a lost session is sent again on the replacement.
 *
 * - `"safe"`: after a definite loss always, because the server refused it unprocessed; after a probable
 *   loss only lists, reads and pings, and requests that `isSafeToResend` allows.
 * - `"always"`: after any loss.
 * - `"never"`: after no loss; the session is replaced, and the request fails.
 */
export type ResendPolicy = "safe" | "always" | "never";

const safeMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
]);

/** Whether requests of this method change nothing on the server. */
export function isSafeMethod(method: string): boolean {
  return safeMethods.has(method);
}

export function maySendAgain(
  request: JsonRpcRequest,
  loss: SessionLoss,
  policy: ResendPolicy,
  isSafeToResend: ((request: JsonRpcRequest) => boolean) | undefined,
): boolean {
  if (policy !== "safe") return policy === "always";
  return loss === "definite" || isSafeMethod(request.method) || isSafeToResend?.(request) === true;
}
