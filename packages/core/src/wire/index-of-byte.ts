/**
 * `bytes.indexOf(byte, from)`. V8's own function looks at one byte after the other. That was half of the
 * cost of a large SSE answer. Node's function, where it exists, is twenty times as fast (see
 * docs/benchmarks.md).
 */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  const { Buffer = Uint8Array } = globalThis as { Buffer?: { readonly prototype: Uint8Array } };
  return Buffer.prototype.indexOf.call(bytes, byte, from);
}
