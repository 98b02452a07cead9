/** Bytes in the pieces in which they arrived. Offsets count from the first byte of the first piece. */
export type ByteParts = readonly Uint8Array[];

export function partsLength(parts: ByteParts): number {
  return parts.reduce((length, part) => length + part.length, 0);
}

/** Smaller pieces are copied into a block of at least this many bytes, which doubles up to the second. */
const blockLengths = [1_024, 65_536] as const;

/**
 * Collects bytes. Large pieces stay as they are. Small ones are copied together, once each, so that the
 * number of parts stays small beside the bytes, and a server that sends single bytes costs no more.
 */
export function createPartCollector() {
  const parts: Uint8Array[] = [];
  let length = 0;
  let block: Uint8Array | undefined;
  let used = 0;
  let [blockLength] = blockLengths as readonly [number, number];
  return {
    parts,
    /** How many bytes were collected. */
    get length() {
      return length;
    },
    add(piece: Uint8Array) {
      if (piece.length === 0) return;
      length += piece.length;
      // The first piece is often the only one.
      if (parts.length === 0 || piece.length >= blockLengths[0]) {
        parts.push(piece);
        block = undefined;
        return;
      }
      if (block === undefined || used + piece.length > block.length) {
        block = new Uint8Array(blockLength);
        blockLength = Math.min(blockLength * 2, blockLengths[1]);
        used = 0;
        parts.push(block);
      }
      block.set(piece, used);
      used += piece.length;
      parts[parts.length - 1] = block.subarray(0, used);
    },
  };
}

export type PartCollector = ReturnType<typeof createPartCollector>;

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
  const [first] = parts;
  if (parts.length === 1) {
    const isWhole = start === 0 && end >= first!.length;
    return decoder.decode(isWhole ? first : first!.subarray(start, end));
  }
  const views = partsBetween(parts, start, end);
  return decoder.decode(views.length > 1 ? joined(views) : views[0]);
}

// It decodes whole texts only, because decoding piece by piece (`stream`) takes many times as long.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function joined(parts: ByteParts): Uint8Array {
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
  return encoder.encode(text);
}

const encoder = new TextEncoder();

/** The longest chunk that is put together from smaller pieces, in bytes. */
const maxChunk = 65_536;

/** The same bytes in as few chunks as possible, because each chunk of a stream is costly. None is empty. */
export function inChunks(parts: ByteParts): ByteParts {
  if (parts.length === 1 && parts[0]!.length > 0) return parts;
  const chunks: Uint8Array[] = [];
  let pieces: Uint8Array[] = [];
  let length = 0;
  const flush = () => {
    if (length > 0) chunks.push(pieces.length === 1 ? pieces[0]! : joined(pieces));
    pieces = [];
    length = 0;
  };
  for (const part of parts) {
    if (length + part.length > maxChunk) flush();
    pieces.push(part);
    length += part.length;
  }
  flush();
  return chunks;
}
