import { isRecord } from "../base/json-values.ts";
import { isKeptMethod } from "../session/snapshot-shape.ts";
import { type JsonRpcRequest, revisionIn } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import type { ResultKey } from "./kept-results.ts";

/** A client's POST to the server. */
export interface MemoryCall {
  readonly message: JsonRpcRequest;
  readonly request: OutgoingRequest;
  /** Sends it as the client gave it. */
  readonly pass: () => Promise<Response>;
}

/** Sends a request that is not as the client gave it. */
export type SendRequest = (request: OutgoingRequest) => Promise<Response>;

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

function metaOf({ params }: { readonly params?: Record<string, unknown> }) {
  const meta = params?.["_meta"];
  return isRecord(meta) ? meta : {};
}

/** What in a request decides on results, beside method and cursor. */
export function clientOf(message: JsonRpcRequest): string {
  return JSON.stringify([revisionIn(message), metaOf(message)[capabilitiesKey] ?? {}]);
}

/** The key of a request whose result may be kept. A request with other parameters can have another result. */
export function keyOf(message: JsonRpcRequest, client: string): ResultKey | undefined {
  const { method, params = {} } = message;
  const { _meta: _, cursor, ...others } = params;
  if (!isKeptMethod(method) || Object.keys(others).length > 0) return undefined;
  if (cursor === undefined) return { method, client, cursor };
  return typeof cursor === "string" && method.endsWith("/list")
    ? { method, client, cursor }
    : undefined;
}

/** The parameters of a request of our own in the name of the same client. */
export function ownParams(message: JsonRpcRequest, cursor: string | undefined) {
  const { progressToken: _, ...meta } = metaOf(message);
  return { ...(cursor !== undefined && { cursor }), _meta: meta };
}
