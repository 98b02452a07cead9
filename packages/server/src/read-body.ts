/** The body as text; `undefined` when it is longer than `maxBytes`. */
export async function readBody(request: Request, maxBytes: number): Promise<string | undefined> {
  if (Number(request.headers.get("content-length")) > maxBytes) return undefined;
  const decoder = new TextDecoder();
  let received = 0;
  let text = "";
  // Not `for await`: some runtimes' bodies are not iterable.
  const reader = request.body?.getReader();
  while (reader) {
    const { done, value } = (await reader.read()) as ReadableStreamReadResult<Uint8Array>;
    if (done) break;
    received += value.byteLength;
    if (received > maxBytes) {
      await reader.cancel().catch(() => {});
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}
