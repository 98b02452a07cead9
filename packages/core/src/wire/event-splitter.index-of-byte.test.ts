import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { indexOfByte } from "./event-splitter.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each(["Node", "a runtime without Buffer"])("finds what indexOf finds, on %s", (runtime) => {
  if (runtime !== "Node") vi.stubGlobal("Buffer", undefined);
  const bytes = fc.array(fc.constantFrom(10, 9, 138, 255), { maxLength: 20 });
  fc.assert(
    fc.property(bytes, fc.nat(3), fc.nat(25), (values, offset, from) => {
      // A part of its buffer, as chunks are, with a match on either side of it.
      const whole = new Uint8Array([...Array.from({ length: offset }, () => 10), ...values, 10]);
      const part = whole.subarray(offset, offset + values.length);
      expect(indexOfByte(part, 10, from)).toBe(values.indexOf(10, from));
    }),
    { numRuns: 1_000 },
  );
});
