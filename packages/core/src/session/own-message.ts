import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import { headersForMessage } from "./session-headers.ts";
import type { LiveSession } from "./live-session.ts";

/** What a message of the fetch's own takes over from the client's request that prompted it. */
export type RequestTemplate = Pick<OutgoingRequest, "headers" | "init">;

/** Sends a message of the fetch's own, on a session or, for `initialize`, on none. */
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
