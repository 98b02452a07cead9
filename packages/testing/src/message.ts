/** What a client sends in JSON-RPC. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: any;
}

/** A request, as a step sends it and a server sees it. */
export interface McpRequest {
  /** `POST`, `GET` or `DELETE`. */
  readonly httpMethod: string;
  /** The JSON-RPC method; `undefined` for an answer of the client, and without a body. */
  readonly rpcMethod: string | undefined;
  /** The tool of a `tools/call`. */
  readonly tool: string | undefined;
  /** Missing while there is no answer, and without one. */
  status?: number;
}

/** @returns `{}` for what is no message */
export function parseMessage(body: string): Message {
  try {
    return (JSON.parse(body) ?? {}) as Message;
  } catch {
    return {};
  }
}

export function describeRequest(httpMethod: string, { method, params }: Message): McpRequest {
  const tool = method === "tools/call" ? params?.name : undefined;
  return { httpMethod, rpcMethod: method, tool };
}
