/** A stream that is read to its end, whoever reads it, and from its beginning by any number of readers. */
export function createLiveStream<CHUNK>(source: ReadableStream<CHUNK>) {
  const chunks: CHUNK[] = [];
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const tell = () => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const readAll = source.pipeTo(
    new WritableStream({
      write(chunk) {
        chunks.push(chunk);
        tell();
      },
    }),
  );
  return {
    /** Resolves at its end, however it ends. */
    ended: readAll
      .catch(() => undefined)
      .then(() => {
        isOver = true;
        tell();
      }),
    read() {
      let next = 0;
      return new ReadableStream<CHUNK>({
        async pull(controller) {
          while (next === chunks.length && !isOver) await news.promise;
          if (next < chunks.length) controller.enqueue(chunks[next++]!);
          else controller.close();
        },
      });
    },
  };
}

export type LiveStream<CHUNK> = ReturnType<typeof createLiveStream<CHUNK>>;
