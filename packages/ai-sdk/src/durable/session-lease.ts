import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import type { ConnectionToolSet } from "../tools/connection-tool-set.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import type { WaitingRegistry } from "../waiting/waiting-registry.ts";
import { readToEnd, type Streamed } from "../streams/read-to-end.ts";

/**
 * One step's hold on an agent session and its tools. It ends when its holder and all attached
 * streams have let go.
 *
 * @example
 * await using lease = await sessions.open(chatId, { principal });
 * const result = streamText({ model, tools: lease.tools, messages });
 * return lease.attach(result).toUIMessageStreamResponse();
 */
export interface SessionLease<
  CONNECTIONS extends Connections = Connections,
> extends AsyncDisposable {
  /** The agent session's id, as given to `open`. */
  readonly sessionId: string;
  /** The tools of all connections, named `<connection>__<tool>` or by the connection's `toolNames`. */
  readonly tools: ConnectionToolSet<CONNECTIONS>;
  /** The live clients of the step. The lease disposes of it, so do not do it yourself. */
  readonly registry: ConnectionRegistry<CONNECTIONS>;
  /** The calls that wait for a person: `registry.waiting`. */
  readonly waiting: WaitingRegistry;
  /**
   * Makes a stream hold the lease too, until the stream has finished, failed or been aborted. It is
   * read to its end in the background, so a client that goes away, or a stream without a reader,
   * does not keep the lease for ever. An abort of the `abortSignal` given to `open` ends the hold at
   * once. The lease's own holder may then dispose of it at any time.
   *
   * @param stream the result of `streamText` or of an agent, a `Response`, or a `ReadableStream`
   * @returns the same object; in the place of a `ReadableStream` the one to read
   * @throws {TypeError} when the lease is closed
   */
  attach<STREAM extends Streamed>(stream: STREAM): STREAM;
  /**
   * Drops the function's own hold. If it was the last one, this waits until the clients are closed and
   * the changes are written. With a stream attached it returns at once. Never rejects: if the store
   * fails, the event `store-failed` reports it, because the step has its results.
   */
  dispose(): Promise<void>;
  /** Resolves when the lease is closed and all is written, for a platform's `waitUntil`. */
  readonly closed: Promise<void>;
}

/** @param close closes the clients and writes the changes; does not reject */
export function createSessionLease<CONNECTIONS extends Connections>(
  parts: Pick<SessionLease<CONNECTIONS>, "sessionId" | "registry" | "tools" | "waiting">,
  abortSignal: AbortSignal | undefined,
  close: () => Promise<void>,
): SessionLease<CONNECTIONS> {
  const closed = Promise.withResolvers<void>();
  let isOwn = true;
  let holds = 1;
  const letGo = () => {
    holds -= 1;
    if (holds === 0) closed.resolve(close());
  };

  const lease: SessionLease<CONNECTIONS> = {
    ...parts,
    closed: closed.promise,
    attach(stream) {
      if (holds === 0) {
        throw new TypeError("attach: the lease is closed. Attach before you dispose of it.");
      }
      const { value, ended } = readToEnd(stream, abortSignal);
      if (ended) {
        holds += 1;
        void ended.then(letGo);
      }
      return value;
    },
    async dispose() {
      if (isOwn) letGo();
      isOwn = false;
      if (holds === 0) await closed.promise;
    },
    [Symbol.asyncDispose]: () => lease.dispose(),
  };
  return lease;
}
