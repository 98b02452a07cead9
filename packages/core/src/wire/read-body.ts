/** The body did not arrive: its client has left, or somebody else has read it. */
export class BodyNotRead extends Error {
  override readonly name = "BodyNotRead";
}

/**
 * The body as text; `undefined` when it is longer than `maxBytes`.
 * @throws {BodyNotRead} the client left, or the body was read before
 */
export async function readBody(request: Request, maxBytes: number): Promise<string | undefined> {
  if (request.bodyUsed) {
    throw new BodyNotRead("Another function has read this body. Let it read request.clone().");
  }
  try {
    return await readUnused(request, maxBytes);
  } catch (cause) {
    throw new BodyNotRead("The body ended before it was complete.", { cause });
  }
}

async function readUnused(request: Request, maxBytes: number): Promise<string | undefined> {
  const length = request.headers.get("content-length");
  if (Number(length) > maxBytes) return undefined;
  if (length !== null && Number(length) >= 0) {
    // HTTP holds the body to that length; the faster way to read it.
    const text = await request.text();
    return text.length > maxBytes ? undefined : text;
  }
  const decoder = new TextDecoder();
  let received = 0;
  let text = "";
  if (!request.body) return "";
  // Not `for await`: some runtimes' bodies are not iterable.
  const reader = request.body.getReader();
  for (;;) {
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
