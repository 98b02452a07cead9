import { startFront } from "../../../e2e/src/wire/front.ts";

export interface CountingProxy {
  readonly url: string;
  /** The requests so far, by JSON-RPC method; others by HTTP method. */
  readonly counts: Record<string, number>;
  readonly close: () => Promise<void>;
}

/** Stands before an MCP server and counts what it is asked. */
export async function startCountingProxy(target: URL): Promise<CountingProxy> {
  const counts: Record<string, number> = {};
  const front = await startFront(target.href);
  front.rule = (exchange) => {
    const method = exchange.rpcMethod ?? exchange.httpMethod;
    counts[method] = (counts[method] ?? 0) + 1;
    return exchange.pass();
  };
  return { url: front.url, counts, close: front.close };
}
