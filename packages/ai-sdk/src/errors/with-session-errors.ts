import type { MCPClient } from "@ai-sdk/mcp";

/** The client, whose errors from the session fetch are each an `McpSessionError` again. */
export function withSessionErrors(
  client: MCPClient,
  restoreError: (error: unknown) => unknown,
): MCPClient {
  return new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        if (!(result instanceof Promise)) return result;
        return result.catch((error: unknown) => {
          throw restoreError(error);
        });
      };
    },
  });
}
