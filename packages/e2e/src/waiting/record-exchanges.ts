interface Recording {
  readonly fetch: typeof globalThis.fetch;
  /** The messages that were sent, in their order. */
  readonly sent: readonly SentMessage[];
  /** The results of all answers, in the order in which they came. */
  readonly results: readonly Record<string, unknown>[];
}

export interface SentMessage {
  readonly method: string;
  readonly params: { readonly _meta?: Readonly<Record<string, unknown>> };
  /** What the request accepts as an answer. */
  readonly accept: string | null;
}

/** A fetch beneath ours that keeps what is sent and answered, for comparisons byte for byte. */
export function recordExchanges(): Recording {
  const sent: SentMessage[] = [];
  const results: Record<string, unknown>[] = [];
  return {
    sent,
    results,
    async fetch(input, init) {
      if (init?.method === "POST") {
        const accept = new Headers(init.headers).get("accept");
        sent.push({ ...(JSON.parse(init.body as string) as SentMessage), accept });
      }
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
