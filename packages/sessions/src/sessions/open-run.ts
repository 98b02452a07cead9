import type { ConnectionRun } from "../run/connection-run.ts";
import { readToEnd, type Streamed } from "../run/read-to-end.ts";

/**
 * What the holder of a run has beside it: one step's hold on an agent session. The run ends when its holder and all
 * attached streams have let go.
 *
 * @example
 * await using run = await sessions.open(chatId, { principal });
 * const result = streamText({ model, tools: await run.tools(), messages });
 * return run.attach(result).toUIMessageStreamResponse();
 */
export interface RunHold extends AsyncDisposable {
  /** The agent session's id, as given to `open`. */
  readonly sessionId: string;
  /**
   * Makes a stream hold the run too, until the stream has finished, failed or been aborted. It is
   * read to its end in the background, so a client that goes away, or a stream without a reader,
   * does not keep the run for ever. An abort of the `abortSignal` given to `open` ends the hold at
   * once. The run's own holder may then dispose of it at any time.
   *
   * @param stream the result of `streamText` or of an agent, a `Response`, or a `ReadableStream`
   * @returns the same object; in the place of a `ReadableStream` the one to read
   * @throws {TypeError} when the run is closed
   */
  attach<STREAM extends Streamed>(stream: STREAM): STREAM;
  /** Closes the clients and writes the changes, whoever still holds the run. Never rejects. */
  close(): Promise<void>;
  /**
   * Drops the function's own hold. If it was the last one, this waits until the clients are closed and
   * the changes are written. With a stream attached it returns at once. Never rejects: if the store
   * fails, the event `store-failed` reports it, because the step has its results.
   */
  dispose(): Promise<void>;
  /** Resolves when the run is closed and all is written, for a platform's `waitUntil`. */
  readonly closed: Promise<void>;
}

/** A run that its holder closes. */
export type OpenRun<RUN> = RUN & RunHold;

/** @param close closes the clients and writes the changes; does not reject */
export function createOpenRun<RUN extends ConnectionRun<any>>(
  sessionId: string,
  run: RUN,
  abortSignal: AbortSignal | undefined,
  close: () => Promise<void>,
): OpenRun<RUN> {
  const closed = Promise.withResolvers<void>();
  let isOwn = true;
  let holds = 1;
  const letGo = () => {
    holds -= 1;
    if (holds === 0) closed.resolve(close());
  };

  const open: OpenRun<RUN> = {
    ...run,
    sessionId,
    closed: closed.promise,
    close: () => run.dispose(),
    attach(stream) {
      if (holds === 0) {
        throw new TypeError("attach: the run is closed. Attach before you dispose of it.");
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
    [Symbol.asyncDispose]: () => open.dispose(),
  };
  return open;
}
