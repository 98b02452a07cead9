interface Recording {
  readonly fetch: typeof globalThis.fetch;
  /** The results of all answers, in the order in which they came. */
  readonly results: readonly Record<string, unknown>[];
}

/** A fetch beneath ours that keeps what servers answer, for comparisons byte for byte. */
export function recordExchanges(): Recording {
  const results: Record<string, unknown>[] = [];
  return {
    results,
    async fetch(input, init) {
      const response = await globalThis.fetch(input, init);
      const text = await response.clone().text();
      results.push(...messagesIn(text).flatMap(({ result }) => (result ? [result] : [])));
      return response;
    },
  };
}

/** The messages of an answer, JSON or events. */
function messagesIn(text: string): { result?: Record<string, unknown> }[] {
  if (text.startsWith("{")) return [JSON.parse(text) as object];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as object);
}
