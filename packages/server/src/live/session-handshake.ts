import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { StoredSession } from "../records/stored-session.ts";
import type { Answer } from "../streams/request-record.ts";
import type { ClientPost, SessionTransport } from "./session-transport.ts";

/** Told of the negotiated revision, or of none when the server refused. */
export type OnInitialize = (protocolVersion: string | undefined) => Promise<void>;

/** The `initialize` of one live session: its client's, or the stored one. */
export function createSessionHandshake(
  stored: StoredSession,
  wire: SessionTransport,
  onFirst: OnInitialize = async () => {},
) {
  let onInitialize = onFirst;
  let pending: RequestId | undefined;
  return {
    /** The id of a new session's first request, until it is answered. */
    get pending() {
      return pending;
    },
    /** Hands the first message of a new session to the server. */
    start: async (post: ClientPost): Promise<Response> => {
      pending = post.requests[0]!.id;
      const response = await wire.post(post);
      if (!response.ok) pending = undefined;
      return response;
    },
    /** Initializes the server from the record. @returns the revision that the server negotiated */
    replay: async (url: string): Promise<string | undefined> => {
      const { initialize, protocolVersion } = stored.record;
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const params = { ...initialize, protocolVersion };
      const parsedBody = { jsonrpc: "2.0", id: "restore", method: "initialize", params };
      let negotiated: string | undefined;
      onInitialize = async (version) => {
        negotiated = version;
      };
      const request = new Request(url, { method: "POST", headers });
      const response = await wire.transport.handleRequest(request, { parsedBody });
      // To its end, which is after the answer.
      await response.text();
      return negotiated;
    },
    /** The server has answered an `initialize`, and the answer is not yet sent. */
    answered: async (answer: Answer): Promise<void> => {
      const tell = onInitialize;
      // Only the first one starts the session; a further one is a mistake of the client.
      onInitialize = async () => {};
      await tell(negotiatedVersion(answer));
    },
    /** The answer was sent. */
    settled: (): void => {
      pending = undefined;
    },
  };
}

export type SessionHandshake = ReturnType<typeof createSessionHandshake>;

function negotiatedVersion(answer: Answer): string | undefined {
  if (!("result" in answer)) return undefined;
  const version = (answer.result as { protocolVersion?: unknown }).protocolVersion;
  return typeof version === "string" ? version : undefined;
}
