import { isRecord, mayMention } from "@durable-mcp/core/internal";

/** The methods with which a connection begins. They change nothing that anybody would miss. */
const methods = ["initialize", "server/discover", "tools/list"] as const;

/** The method of a JSON-RPC request in a body of `fetch`, if it is one of those. */
export function handshakeMethod(body: unknown): (typeof methods)[number] | undefined {
  // Most bodies are calls, and long ones take time to parse.
  if (typeof body !== "string" || !methods.some((method) => mayMention(body, `"${method}"`))) {
    return undefined;
  }
  try {
    const message: unknown = JSON.parse(body);
    return methods.find((method) => isRecord(message) && message["method"] === method);
  } catch {
    return undefined;
  }
}
