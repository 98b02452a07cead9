/** Counts the streams that clients resume, and the answers in them that another replica gave. */
export function createResumeCount() {
  const count = { resumed: 0, answeredElsewhere: 0 };

  /** The calls' answers end with the name of their replica. */
  function watch(body: ReadableStream<Uint8Array>, replica: string | null) {
    const decoder = new TextDecoder();
    let text = "";
    return body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          text += decoder.decode(chunk, { stream: true });
          const events = text.split("\n\n");
          text = events.pop()!;
          for (const event of events) {
            const [, other] = />\s+by (\d+)/.exec(event) ?? [];
            if (other !== undefined && other !== replica) count.answeredElsewhere += 1;
          }
        },
      }),
    );
  }

  const counted: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    if (!headers.has("last-event-id") || !response.body) return response;
    count.resumed += 1;
    const { status, statusText } = response;
    const body = watch(response.body, response.headers.get("x-replica"));
    return new Response(body, { status, statusText, headers: response.headers });
  };
  return {
    fetch: counted,
    get resumed() {
      return count.resumed;
    },
    get answeredElsewhere() {
      return count.answeredElsewhere;
    },
  };
}
