import type { AuthInfo } from "../base/mcp-types.ts";

/**
 * `createMcpHandler` of `@modelcontextprotocol/server`, or a function that calls it with more options.
 * It calls `createServer` for each request.
 */
export type CreateStatelessHandler = (
  // Its servers are typed more narrowly, and checked when they are made.
  createServer: () => Promise<any>,
  options: StatelessOptions,
) => StatelessHandler;

/** The options that follow from those of the session handler. */
interface StatelessOptions {
  /** Older clients get sessions. */
  readonly legacy: "reject";
  readonly keepAliveMs: number;
  readonly onerror: (error: Error) => void;
}

/** The part of an `McpHttpHandler` that is used. */
export interface StatelessHandler {
  /** Answers one request. */
  fetch(
    request: Request,
    options: { readonly authInfo?: AuthInfo; readonly parsedBody?: unknown },
  ): Promise<Response>;
  /** Ends all that it has in flight. */
  close(): Promise<void>;
}
