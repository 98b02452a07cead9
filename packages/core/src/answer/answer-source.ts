import { startLimit } from "../base/bounded-wait.ts";

/** What a client's stream reads from. */
export interface AnswerSource {
  pull(controller: Controller): Promise<void>;
  /**
   * @param isAnswered whether the rest is read for a moment, because a connection whose answer was not read to its end
   *   is of no more use. @default false
   */
  cancel(reason?: unknown, isAnswered?: boolean): void;
}
export type Controller = Pick<
  ReadableStreamDefaultController<Uint8Array>,
  "close" | "enqueue" | "error"
>;

/** Reads for a client of ours, which takes messages. @throws the caller's abort */
export async function readToEnd(source: AnswerSource, isTaken: () => boolean): Promise<void> {
  const ends: { readonly failure?: unknown }[] = [];
  const controller: Controller = {
    enqueue() {},
    close: () => void ends.push({}),
    error: (failure) => void ends.push({ failure }),
  };
  while (ends.length === 0 && !isTaken()) await source.pull(controller);
  const [end] = ends;
  if (end === undefined) source.cancel("over", true);
  else if ("failure" in end) throw end.failure;
}

/** How long the rest of a stream is read after its answer, in milliseconds. */
const restMs = 100;

/** Reads to the end, but not for long. */
export async function readRest(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stop: (reason: string) => void,
): Promise<void> {
  const endTimer = startLimit(restMs, () => stop("over"), true);
  try {
    while (!(await reader.read()).done);
  } catch {
    // Nobody waits for more.
  }
  endTimer();
}
