/** The largest message that is held, in bytes (64 MiB). No well-meaning server sends a larger one. */
export const MAX_MESSAGE_BYTES = 67_108_864;

/** The text of a body, up to `maxBytes` bytes. The rest is not read. */
export async function readText({ body }: Response, maxBytes: number): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  for (let length = 0; length < maxBytes;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value.subarray(0, maxBytes - length), { stream: true });
    length += value.length;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** Stops reading an answer, which frees its connection. */
export async function letGo(response: Response | undefined): Promise<void> {
  await response?.body?.cancel();
}
