/** Bytes in the pieces in which they arrived. Offsets count from the first byte of the first piece. */
export type ByteParts = readonly Uint8Array[];

export function partsLength(parts: ByteParts): number {
  return parts.reduce((length, part) => length + part.length, 0);
}

/** The bytes from `start` to `end` as views into the pieces; nothing is copied. */
export function partsBetween(parts: ByteParts, start: number, end: number): Uint8Array[] {
  const views: Uint8Array[] = [];
  let offset = 0;
  for (const part of parts) {
    const from = Math.max(start - offset, 0);
    const to = Math.min(end - offset, part.length);
    if (from < to) views.push(part.subarray(from, to));
    offset += part.length;
  }
  return views;
}

/** The bytes from `start` to `end` as text. A character cut in half becomes U+FFFD. */
export function partsText(parts: ByteParts, start: number, end: number): string {
  const views = partsBetween(parts, start, end);
  return decoder.decode(views.length > 1 ? joined(views) : views[0]);
}

// It decodes whole texts only, because decoding piece by piece (`stream`) takes many times as long.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function joined(parts: ByteParts): Uint8Array {
  const whole = new Uint8Array(partsLength(parts));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** The place of some bytes, and the text that replaces them. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function replaceBytes(parts: ByteParts, { start, end, text }: Replacement): Uint8Array[] {
  return [...partsBetween(parts, 0, start), utf8(text), ...partsBetween(parts, end, Infinity)];
}

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
