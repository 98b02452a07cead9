import fc from "fast-check";
import { expect, test } from "vitest";
import { indexOfByte } from "./index-of-byte.ts";

test("finds what indexOf finds, wherever the bytes are in their buffer", () => {
  // Neighbours of the byte, and their counterparts above 127, are what the word test could mistake.
  const byte = fc.constantFrom(10, 9, 11, 0, 138, 137, 255);
  const bytes = fc.array(byte, { maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.nat(7), fc.nat(45), (values, offset, from) => {
      const view = new Uint8Array([...Array.from({ length: offset }, () => 10), ...values, 10]);
      const part = view.subarray(offset, offset + values.length);
      expect(indexOfByte(part, 10, from)).toBe(part.indexOf(10, from));
    }),
    { numRuns: 2_000 },
  );
});
