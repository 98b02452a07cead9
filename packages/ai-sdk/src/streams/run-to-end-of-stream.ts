import { within } from "@durable-mcp/core/internal";
import { readToEnd } from "./read-to-end.ts";

/**
 * Runs `step` in a run. If `step` returns a stream, the run lasts until the stream has ended.
 *
 * @param options.run calls its argument, and closes everything when that is done
 * @param options.onLateFailure called if closing fails after a stream was returned
 * @returns at once if there is a stream, and otherwise when all is closed
 * @throws the error of `step`, when all is closed; without a stream also the error of closing
 */
export async function runToEndOfStream<T>({
  run,
  step,
  abortSignal,
  onLateFailure,
}: {
  run: (use: () => Promise<void>) => Promise<void>;
  step: () => T | PromiseLike<T>;
  abortSignal: AbortSignal | undefined;
  onLateFailure?: (() => void) | undefined;
}): Promise<T> {
  const given = Promise.withResolvers<T>();
  let result: T;
  let isGiven = false;
  const over = run(async () => {
    // Read inside, so that the application's own tools find the run.
    const stream = readToEnd(await step(), abortSignal);
    result = stream.value;
    if (stream.ended === undefined) return;
    // If the stream is already complete, its caller finds all closed, as without a stream.
    isGiven = !(await within(0, stream.ended));
    if (isGiven) given.resolve(result);
    await stream.ended;
  });
  over.then(
    () => given.resolve(result),
    (error: unknown) => {
      if (isGiven) onLateFailure?.();
      given.reject(error);
    },
  );
  return await given.promise;
}
