/**
 * `bytes.indexOf(byte, from)`, four bytes at a time. The engine's own goes one by one, which was
 * half of what passing a large SSE answer on cost (see docs/benchmarks.md).
 */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  // Words start at multiples of four.
  let index = from;
  while (index < bytes.length && (bytes.byteOffset + index) % 4 !== 0) {
    if (bytes[index] === byte) return index;
    index += 1;
  }
  if (index >= bytes.length) return -1;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + index, (bytes.length - index) >> 2);
  const pattern = byte * 0x01010101;
  let word = 0;
  while (word < words.length && !hasZeroByte((words[word] as number) ^ pattern)) word += 1;
  return bytes.indexOf(byte, index + word * 4);
}

/** @see https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord */
function hasZeroByte(word: number): boolean {
  return ((word - 0x01010101) & ~word & 0x80808080) !== 0;
}
