import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import type { LoggedRequests } from "../streams/request-log.ts";
import type { AnswerKind } from "./server-session.ts";

/** One POST with requests, as it is handed to the SDK's transport. */
export interface ClientPost {
  readonly request: Request;
  readonly body: unknown;
  readonly requests: readonly JSONRPCRequest[];
  readonly authInfo: AuthInfo | undefined;
}

export interface SessionTransportOptions {
  readonly sessionId: string;
  readonly answers: AnswerKind;
  readonly retryMs: number;
  readonly keepAliveMs: number;
  /** What was negotiated, for clients that do not say so. */
  readonly protocolVersion: () => string;
  /** Where the answer stream that a message is of is stored. */
  readonly streamOf: (message: JSONRPCMessage) => LoggedRequests | undefined;
}

export interface SessionTransport {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Hands a POST to the transport; its answer stream is stored in `stream`, if at all. */
  post(post: ClientPost, stream?: LoggedRequests): Promise<Response>;
}

/** The SDK's transport for one session, with its answer streams in the request log. */
export function createSessionTransport(options: SessionTransportOptions): SessionTransport {
  const { sessionId, answers } = options;
  let dispatching: LoggedRequests | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const eventStore: EventStore = {
    storeEvent: async (_streamId, message) => {
      const stream = options.streamOf(message) ?? dispatching;
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
    enableJsonResponse: answers === "json",
    ...(answers === "sse" && { eventStore }),
    retryInterval: options.retryMs,
    keepAliveMs: options.keepAliveMs,
  });

  function handOver({ request, body, authInfo }: ClientPost): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.set("mcp-session-id", sessionId);
    const protocolVersion = options.protocolVersion();
    if (!headers.has("mcp-protocol-version") && protocolVersion) {
      headers.set("mcp-protocol-version", protocolVersion);
    }
    const copy = new Request(request.url, { method: "POST", headers });
    return transport.handleRequest(copy, { parsedBody: body, ...(authInfo && { authInfo }) });
  }

  /**
   * One at a time: the transport asks for the id of a stream's first event without saying which
   * POST the stream answers. In JSON there are no such events, and the wait would be for the answer.
   */
  function post(given: ClientPost, stream?: LoggedRequests): Promise<Response> {
    if (answers === "json") return handOver(given);
    const result = turn.then(async () => {
      dispatching = stream;
      try {
        return await handOver(given);
      } finally {
        dispatching = undefined;
      }
    });
    turn = result.catch(() => {});
    return result;
  }
  return { transport, post };
}
