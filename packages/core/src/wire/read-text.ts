/** More than any message of a server that means well, in bytes (64 MiB). What is larger is not held. */
export const MAX_MESSAGE_BYTES = 67_108_864;

/** The text of a body; of a larger one the first `maxBytes` bytes, and the rest is not read. */
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

/** Reads nothing more of an answer, so that its connection is free. */
export async function letGo(response: Response | undefined): Promise<void> {
  await response?.body?.cancel();
}
