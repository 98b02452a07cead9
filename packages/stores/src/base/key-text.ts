/**
 * Keys and owners as databases can hold them: PostgreSQL's text has no U+0000, and some versions of
 * `node:sqlite` end a text there. What starts with a prefix still does when both are escaped.
 */
export function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\0", "\\0");
}

/** What `escapeText` was given. */
export function unescapeText(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped) => (escaped === "0" ? "\0" : escaped));
}

/**
 * The least text that comes after all texts with this prefix, in the order of code points, which is
 * the order of the bytes of UTF-8. `undefined` when nothing does.
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
