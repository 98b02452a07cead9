import { abortable, within } from "@durable-mcp/core/internal";

/** A readable result of an AI SDK run, such as the result of `streamText`. */
interface AttachableResult {
  consumeStream(options?: { onError?: (error: unknown) => void }): PromiseLike<void>;
  /** Rejects when the run is aborted. */
  readonly finishReason?: PromiseLike<unknown>;
  /** Holds a failure of a later turn of the model, which rejects nothing. */
  readonly fullStream?: AsyncIterable<{ readonly type: string }>;
}

/** A value that may still be streaming when its function returns. */
export type Streamed = AttachableResult | Response | ReadableStream;

/** A run's failure where only its stream failed, which the stream's reader sees. */
const streamFailed = new Error("The stream of the run failed.");

/** Whether a value is of a kind that may still be streaming. */
export function isStreamed(value: unknown): value is Streamed {
  return isResult(value) || isResponse(value) || isReadable(value);
}

/**
 * Reads a stream to its end in the background. The stream thus ends even if its reader goes away, or if
 * it has none.
 *
 * @param signal ends the reading
 * @returns the value to use instead of `value`: another object only for a `ReadableStream`. `ended`
 *   resolves when the stream has ended, failed or been aborted, with whether it failed. It is missing if
 *   there is no stream, or if somebody else reads it already
 */
export function readToEnd<T>(
  value: T,
  signal: AbortSignal | undefined,
): { readonly value: T; readonly ended?: Promise<boolean> } {
  if (isResult(value)) return { value, ended: isFailed(consume(value), signal) };
  if (isResponse(value)) {
    const { body, bodyUsed } = value;
    if (body === null || bodyUsed || body.locked) return { value };
    return { value, ended: drain(value.clone().body!, signal) };
  }
  if (!isReadable(value) || value.locked) return { value };
  const [own, given] = value.tee();
  return { value: given as T & ReadableStream, ended: drain(own, signal) };
}

async function consume(result: AttachableResult): Promise<void> {
  // Results fail at once when the run is aborted, the stream only after its callbacks.
  const failed = new Promise((_, reject) => void result.finishReason?.then(undefined, reject));
  let hasError = false;
  const readParts = async () => {
    for await (const { type } of result.fullStream ?? []) hasError ||= type === "error";
  };
  const read = [result.consumeStream({ onError: () => undefined }), readParts()];
  await Promise.race([Promise.all(read), failed]);
  if (hasError) throw streamFailed;
}

async function drain(stream: ReadableStream, signal: AbortSignal | undefined): Promise<boolean> {
  const reader = stream.getReader();
  const read = async () => {
    while (!(await reader.read()).done);
  };
  const failed = await isFailed(read(), signal);
  // Cancels the source when the other reader has gone too, and is not done before.
  if (signal?.aborted) void reader.cancel().catch(() => undefined);
  return failed;
}

/** An abort is no failure. */
async function isFailed(work: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
  const isAbort = (error: unknown) => signal?.aborted || (error as Error)?.name === "AbortError";
  return await abortable(work, signal).then(
    () => false,
    (error: unknown) => !isAbort(error),
  );
}

function isResult(value: unknown): value is AttachableResult {
  return hasMethods(value, "consumeStream");
}

/** Not `instanceof`: frameworks have classes of their own. */
function isResponse(value: unknown): value is Response {
  if (!hasMethods(value, "clone") || !("body" in value)) return false;
  return value.body === null || isReadable(value.body);
}

function isReadable(value: unknown): value is ReadableStream {
  return hasMethods(value, "getReader", "tee");
}

function hasMethods<NAME extends string>(
  value: unknown,
  ...names: NAME[]
): value is Record<NAME, () => unknown> {
  if (typeof value !== "object" || value === null) return false;
  // `in` first: some proxies throw for properties that they do not have.
  return names.every((name) => name in value && typeof (value as never)[name] === "function");
}

/**
 * Runs `step` in a run. If `step` returns a stream, the run lasts until the stream has ended.
 *
 * @param run calls its argument, and closes everything when that is done
 * @param onLateFailure called if closing fails after a stream was returned
 * @returns at once if there is a stream, and otherwise when all is closed
 * @throws the error of `step`, when all is closed; without a stream also the error of closing
 */
export async function runToEndOfStream<T>(
  run: (use: () => Promise<void>) => Promise<void>,
  step: () => T | PromiseLike<T>,
  abortSignal: AbortSignal | undefined,
  onLateFailure?: () => void,
): Promise<T> {
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
    if (await stream.ended) throw streamFailed;
  });
  over.then(
    () => given.resolve(result),
    (error: unknown) => {
      if (error === streamFailed) given.resolve(result);
      else if (isGiven) onLateFailure?.();
      given.reject(error);
    },
  );
  return await given.promise;
}
