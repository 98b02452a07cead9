import { parseEvents } from "./parse-events.ts";

export interface RpcClient {
  /** Sends one message and gives the HTTP answer. */
  post(message: unknown, init?: RequestInit): Promise<Response>;
  /** Sends a request and gives its JSON-RPC answer, whatever the content type. */
  request(method: string, params?: object, init?: RequestInit & { id?: unknown }): Promise<any>;
  /** `initialize` and `notifications/initialized`; gives the result of the first. */
  handshake(params?: object): Promise<any>;
}

/** As little of an MCP client as is needed to talk through a fetch; its ids start at 0. */
export function createRpcClient(
  fetch: typeof globalThis.fetch,
  url: string,
  headers: Record<string, string> = {},
): RpcClient {
  let nextId = 0;
  const post: RpcClient["post"] = (message, init) =>
    fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(message),
      ...init,
    });
  const request: RpcClient["request"] = async (method, params, { id = nextId++, ...init } = {}) => {
    const response = await post({ jsonrpc: "2.0", id, method, ...(params && { params }) }, init);
    const messages = await readMessages(response);
    return messages.find((message) => message?.id === id) ?? { status: response.status, messages };
  };
  return {
    post,
    request,
    async handshake(params = {}) {
      const answer = await request("initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test-client", version: "1" },
        ...params,
      });
      await post({ jsonrpc: "2.0", method: "notifications/initialized" });
      return answer.result;
    },
  };
}

/** The messages in an answer, in order; text that is not JSON as it is. */
export async function readMessages(response: Response): Promise<any[]> {
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return eventMessages(text);
  }
  if (text === "") return [];
  try {
    return [JSON.parse(text)];
  } catch {
    return [text];
  }
}

/** The messages of an SSE text, in order. */
export function eventMessages(text: string): any[] {
  const { events } = parseEvents(text);
  return events.filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data) as unknown);
}
