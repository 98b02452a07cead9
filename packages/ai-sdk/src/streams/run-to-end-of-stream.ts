import { within } from "@durable-mcp/core/internal";
import { readToEnd } from "./read-to-end.ts";

/** What the function of a run gave back. */
export interface RunOutcome<T> {
  readonly result: T;
  /** Resolves when all is closed, and rejects with what failed then. */
  readonly over: Promise<void>;
}

/**
 * Runs `step` in a run that lasts until the stream that `step` gives back, if any, has ended.
 *
 * @param options.run calls what it is given, and closes everything when that is done
 * @returns at once when there is a stream, and otherwise when all is closed
 * @throws what `step` throws, when all is closed; without a stream also what the closing throws
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
    // What is whole already need not be waited for: its caller finds all closed, as without a stream.
    if (!(await within(0, stream.ended))) given.resolve({ result, over });
    await stream.ended;
  });
  over.then(() => given.resolve({ result, over }), given.reject);
  return await given.promise;
}
