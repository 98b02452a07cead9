/** The same answer. `onEnd` is called when it has been read, at once if it is no stream, or given up. */
export function whenRead(response: Response, onEnd: () => void): Response {
  const { body, status, headers } = response;
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          onEnd();
          controller.close();
        } catch (error) {
          onEnd();
          controller.error(error);
        }
      },
      async cancel(reason) {
        try {
          await reader.cancel(reason);
        } finally {
          onEnd();
        }
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(readable, { status, headers });
}
