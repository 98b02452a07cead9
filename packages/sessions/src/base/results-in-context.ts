export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] === "function";
}

/** The results of a generator, which runs in this context and not in that of its reader. */
export async function* resultsInContext(
  enter: <T>(use: () => T) => T,
  results: AsyncIterable<unknown>,
): AsyncGenerator {
  const iterator = enter(() => results[Symbol.asyncIterator]());
  let isOpen = false;
  try {
    for (;;) {
      const next = await enter(() => iterator.next());
      if (next.done) return next.value;
      isOpen = true;
      yield next.value;
      isOpen = false;
    }
  } finally {
    // Like `for await`: only a reader that stops early calls `return`.
    if (isOpen) await enter(async () => await iterator.return?.());
  }
}
