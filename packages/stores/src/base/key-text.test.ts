import fc from "fast-check";
import { expect, test } from "vitest";
import { endOfPrefix, escapeText, unescapeText } from "./key-text.ts";

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\\", "\0", "0", "\u{10ffff}", "\ud7ff", "\ue000", "%", "_"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
});

test("gives an escaped text back, and escapes U+0000", () => {
  fc.assert(
    fc.property(text, (given) => {
      const escaped = escapeText(given);
      expect(escaped).not.toContain("\0");
      expect(unescapeText(escaped)).toBe(given);
    }),
  );
});

test("keeps what starts with what", () => {
  fc.assert(
    fc.property(text, text, text, (prefix, rest, other) => {
      expect(escapeText(prefix + rest).startsWith(escapeText(prefix))).toBe(true);
      expect(escapeText(other).startsWith(escapeText(prefix))).toBe(other.startsWith(prefix));
    }),
  );
});

test("ends a prefix where the texts that start with it end, in the order of bytes", () => {
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const end = endOfPrefix(prefix);
      const inRange =
        Buffer.compare(Buffer.from(other), Buffer.from(prefix)) >= 0 &&
        (end === undefined || Buffer.compare(Buffer.from(other), Buffer.from(end)) < 0);
      expect(inRange).toBe(other.startsWith(prefix));
      expect(end?.isWellFormed() ?? true).toBe(true);
    }),
  );
});
