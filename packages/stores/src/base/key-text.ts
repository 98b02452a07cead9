/**
 * A key or an owner in a form that databases can hold. PostgreSQL's text has no U+0000, and some
 * versions of `node:sqlite` end a text there. Escaping keeps prefixes: if a text starts with a prefix,
 * the escaped text starts with the escaped prefix.
 */
export function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\0", "\\0");
}

/** The inverse of `escapeText`. */
export function unescapeText(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped) => (escaped === "0" ? "\0" : escaped));
}

/**
 * The least text after all texts with this prefix, in the order of code points. That is also the order
 * of the bytes of UTF-8. `undefined` if there is none.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const codePoints = Array.from(prefix, (character) => character.codePointAt(0)!);
  for (let last = codePoints.pop(); last !== undefined; last = codePoints.pop()) {
    if (last === 0x10_ff_ff) continue;
    // Surrogates are not code points of any text.
    return String.fromCodePoint(...codePoints, last === 0xd7_ff ? 0xe0_00 : last + 1);
  }
  return undefined;
}

/** A time with the digits of the largest one, so that bytes sort like numbers. */
export function printTime(time: number): string {
  return String(time).padStart(16, "0");
}
