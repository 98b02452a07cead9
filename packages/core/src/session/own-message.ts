import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import { headersForMessage } from "./session-headers.ts";
import type { LiveSession } from "./live-session.ts";

/** The parts of a client's request that the fetch uses for a message of its own. */
export type RequestTemplate = Pick<OutgoingRequest, "headers" | "init">;

/** Sends a message of the fetch itself, on a session or, for `initialize`, on no session. */
export type SendOwnMessage = (
  message: { readonly method: string; readonly id?: string; readonly params?: object },
  options: {
    readonly template: RequestTemplate;
    readonly session: LiveSession | undefined;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

export function createSendOwnMessage(send: SendToEndpoint): SendOwnMessage {
  return (message, { template, session, signal }) =>
    send({
      method: "POST",
      headers: headersForMessage(template.headers, session),
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
      init: template.init,
    });
}
