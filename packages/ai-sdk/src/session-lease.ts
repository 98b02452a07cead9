import type { ConnectionRegistry } from "./connection-registry.ts";
import type { ConnectionToolSet } from "./connection-tool-set.ts";
import type { McpClientConnection } from "./define-connection.ts";

/** What a run of AI SDK has, such as the result of `streamText`, that can be read to its end. */
export interface AttachableResult {
  consumeStream(options?: { onError?: (error: unknown) => void }): PromiseLike<void>;
}

/**
 * One step's hold on an agent session: its tools, until everything that holds it lets go.
 *
 * @example
 * await using lease = await sessions.open(chatId, { principal, abortSignal: request.signal });
 * const result = streamText({ model, tools: lease.tools, messages, abortSignal: request.signal });
 * return lease.attach(result).toUIMessageStreamResponse();
 */
export interface SessionLease<
  CONNECTIONS extends Record<string, McpClientConnection> = Record<string, McpClientConnection>,
> extends AsyncDisposable {
  /** The agent session's id, as given to `open`. */
  readonly sessionId: string;
  /** The tools of all connections, named `<connection>__<tool>`. */
  readonly tools: ConnectionToolSet<CONNECTIONS>;
  /** The live clients of the step. Disposed of with the lease; do not do it yourself. */
  readonly registry: ConnectionRegistry<CONNECTIONS>;
  /**
   * Makes a result that is still streaming hold the lease too, until it has ended: finished, failed
   * or aborted. It is read to its end in the background, so that neither a client that goes away
   * nor a stream that nobody reads keeps it for ever; an abort of the `abortSignal` given to `open`
   * ends the hold at once. The lease's own holder may then dispose of it at any time.
   *
   * @returns the same result
   * @throws {TypeError} when the lease was released already
   */
  attach<RESULT extends AttachableResult>(result: RESULT): RESULT;
  /**
   * Drops the function's own hold. When it was the last one, waits until the clients are closed and
   * what changed is written; with a result attached, returns at once. Never rejects: a store that
   * fails here is reported as the event `store-failed`, because the results of the step are there.
   */
  dispose(): Promise<void>;
  /** Resolves when the lease is released and all is written, for a platform's `waitUntil`. */
  readonly closed: Promise<void>;
}
