/**
 * `bytes.indexOf(byte, from)`. V8's own looks at one byte after the other, which was half of what
 * passing a large SSE answer on cost; Node's, where there is one, is twenty times as fast (see
 * docs/benchmarks.md).
 */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  const { Buffer = Uint8Array } = globalThis as { Buffer?: { readonly prototype: Uint8Array } };
  return Buffer.prototype.indexOf.call(bytes, byte, from);
}
