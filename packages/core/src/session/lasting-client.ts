import { mustBe } from "../base/check-option.ts";
import { isRecord } from "../base/json-values.ts";
import type { JsonRpcId, JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";

/** A client that outlives this process: another one restores its ids, and resumes its streams. */
export interface LastingClient {
  /** Begins all ids of the client's requests at the server. No other client on the session has it. */
  readonly prefix: string;
  /** The id of an event for the client. @param requestId of the request that the stream answers */
  readonly seal: (eventId: string, requestId: JsonRpcId | undefined) => string;
  /** What an id of `seal` has in it. */
  readonly open: (
    sealed: string,
  ) => { readonly eventId: string; readonly requestId: JsonRpcId | undefined } | undefined;
  /** An answer as the client gets it, also one that says why there is none. */
  readonly answer: (answer: JsonRpcResponse, request: JsonRpcRequest) => JsonRpcResponse;
}

export const anyLastingClient = mustBe(
  "the client of a gateway",
  (value) => isRecord(value) && typeof value["prefix"] === "string",
);
