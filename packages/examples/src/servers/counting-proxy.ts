import { startCountingProxy as startProxy } from "../../../e2e/src/wire/counting-proxy.ts";

/** Stands before an MCP server and counts what it is asked. */
export async function startCountingProxy(targetUrl: string) {
  const { url, seenRequests, close } = await startProxy(targetUrl);
  return {
    ...{ url, close },
    /** The requests so far, by JSON-RPC method; others by HTTP method. */
    get counts(): Record<string, number> {
      const methods = seenRequests().map(({ rpcMethod, httpMethod }) => rpcMethod ?? httpMethod);
      const counts = [...Map.groupBy(methods, String)].map(([method, all]) => [method, all.length]);
      return Object.fromEntries(counts) as Record<string, number>;
    },
  };
}
