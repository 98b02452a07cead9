import { createFaultyProxy } from "@durable-mcp/testing";

/** Stands before an MCP server and counts what it is asked. */
export async function startCountingProxy(targetUrl: string) {
  const proxy = await createFaultyProxy({ target: targetUrl });
  return {
    url: proxy.url,
    close: () => proxy.close(),
    /** The requests so far, by JSON-RPC method; others by HTTP method. */
    get counts(): Record<string, number> {
      const methods = proxy.requests.map(({ rpcMethod, httpMethod }) => rpcMethod ?? httpMethod);
      const counts = [...Map.groupBy(methods, String)].map(([name, all]) => [name, all.length]);
      return Object.fromEntries(counts) as Record<string, number>;
    },
  };
}
