import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { createQueue } from "../base/queue.ts";
import type { LoggedRequests } from "../streams/logged-requests.ts";
import type { LiveContext } from "./handler-context.ts";

/** One POST with requests, as it is handed to the SDK's transport. */
export interface ClientPost {
  readonly request: Request;
  readonly body: unknown;
  readonly requests: readonly JSONRPCRequest[];
  readonly authInfo: AuthInfo | undefined;
}

/**
 * The SDK's transport for one session, with its answer streams in the request log.
 * @param streamOf the stored stream to which a message belongs
 */
export function createSessionTransport(
  { sessionId, stored, format, settings: { timeouts } }: LiveContext,
  streamOf: (message: JSONRPCMessage) => LoggedRequests | undefined,
) {
  const inTurn = createQueue();
  let dispatching: LoggedRequests | undefined;

  const eventStore: EventStore = {
    storeEvent: async (_streamId, message) => {
      const stream = streamOf(message) ?? dispatching;
      // The answer to `initialize` is not kept: a client that misses it initializes again.
      if (!stream) return "";
      if (!("jsonrpc" in message)) return stream.eventId(0);
      // Without an id the client gets the message all the same, and cannot resume after it.
      return (await stream.append(message).catch(() => undefined)) ?? "";
    },
    replayEventsAfter: () =>
      Promise.reject(new Error("Streams are resumed from the store, not by the transport.")),
  };
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => sessionId,
    enableJsonResponse: format === "json",
    ...(format === "sse" && { eventStore }),
    retryInterval: timeouts.retryMs,
    keepAliveMs: timeouts.keepAliveMs,
  });

  function handOver({ request, body, authInfo }: ClientPost): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.set("mcp-session-id", sessionId);
    const { protocolVersion } = stored.record;
    if (!headers.has("mcp-protocol-version") && protocolVersion) {
      headers.set("mcp-protocol-version", protocolVersion);
    }
    const copy = new Request(request.url, { method: "POST", headers });
    return transport.handleRequest(copy, { parsedBody: body, ...(authInfo && { authInfo }) });
  }

  return {
    transport,
    /**
     * Hands a POST to the transport, which stores its answer stream in `stream`, if there is one.
     * One at a time: the transport asks for the id of a stream's first event without saying which
     * POST the stream answers. In JSON there are no such events, and the wait would be for the answer.
     */
    post: (post: ClientPost, stream?: LoggedRequests): Promise<Response> =>
      format === "json"
        ? handOver(post)
        : inTurn(async () => {
            dispatching = stream;
            try {
              return await handOver(post);
            } finally {
              dispatching = undefined;
            }
          }),
  };
}

export type SessionTransport = ReturnType<typeof createSessionTransport>;
