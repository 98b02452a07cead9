/**
 * Calls `release` when the response's body was read to its end, failed or was cancelled. It calls it at
 * once for a response without a body, and for a refusal.
 *
 * @returns the response to read
 */
export function heldResponse(response: Response, release: () => void): Response {
  if (response.body === null || !response.ok) {
    release();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        release();
      },
      async cancel(reason) {
        release();
        await reader.cancel(reason);
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
