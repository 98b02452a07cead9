import { within } from "@durable-mcp/core/internal";
import { readToEnd } from "./read-to-end.ts";

/** The outcome of a run's function. */
export interface RunOutcome<T> {
  readonly result: T;
  /** Resolves when all is closed, and rejects with the error of closing. */
  readonly over: Promise<void>;
}

/**
 * Runs `step` in a run. If `step` returns a stream, the run lasts until the stream has ended.
 *
 * @param options.run calls its argument, and closes everything when that is done
 * @returns at once if there is a stream, and otherwise when all is closed
 * @throws the error of `step`, when all is closed; without a stream also the error of closing
 */
export async function runToEndOfStream<T>({
  run,
  step,
  abortSignal,
}: {
  run: (use: () => Promise<void>) => Promise<void>;
  step: () => T | PromiseLike<T>;
  abortSignal: AbortSignal | undefined;
}): Promise<RunOutcome<T>> {
  const given = Promise.withResolvers<RunOutcome<T>>();
  let result: T;
  const over: Promise<void> = run(async () => {
    // Read inside, so that the application's own tools find the run.
    const stream = readToEnd(await step(), abortSignal);
    result = stream.value;
    if (stream.ended === undefined) return;
    // If the stream is already complete, its caller finds all closed, as without a stream.
    if (!(await within(0, stream.ended))) given.resolve({ result, over });
    await stream.ended;
  });
  over.then(() => given.resolve({ result, over }), given.reject);
  return await given.promise;
}
