/** A stream that is read to its end, whoever reads it, and from its beginning by any number of readers. */
export function createLiveStream<CHUNK>(source: ReadableStream<CHUNK>) {
  const chunks: CHUNK[] = [];
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const tell = () => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const readAll = async () => {
    const write = (chunk: CHUNK) => {
      chunks.push(chunk);
      tell();
    };
    await source.pipeTo(new WritableStream({ write })).catch(() => undefined);
    isOver = true;
    tell();
  };
  return {
    /** Resolves at its end, however it ends. */
    ended: readAll(),
    read() {
      let next = 0;
      return new ReadableStream<CHUNK>({
        async pull(controller) {
          for (;;) {
            if (next < chunks.length) return controller.enqueue(chunks[next++]!);
            if (isOver) return controller.close();
            await news.promise;
          }
        },
      });
    },
  };
}

export type LiveStream<CHUNK> = ReturnType<typeof createLiveStream<CHUNK>>;
