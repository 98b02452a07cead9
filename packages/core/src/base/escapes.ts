/** Characters as URLs, forms, HTML and strings of JSON write them. */
const escapes =
  /\+|%[0-7][\da-f]|%[c-f][\da-f](?:%[89ab][\da-f]){1,3}|&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});|\\(?:["\\/bfnrt]|u[\da-f]{4})/gi;

const meanings: Readonly<Record<string, string>> = {
  ...{ "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "+": " " },
  ...{ "\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t" },
};

/** An answer is escaped as often as it passes through something: twice is usual. */
const maxLevels = 6;

/** The text, and what it says when its escapes are undone, once after another. */
export function unescapedLevels(text: string): [string, ...string[]] {
  const levels: [string, ...string[]] = [text];
  for (let last = text; levels.length <= maxLevels; levels.push(last)) {
    const next = last.replaceAll(escapes, meaningOf);
    if (next === last) break;
    last = next;
  }
  return levels;
}

/** @param places in the text without escapes, in ascending order @returns the same places in `text` */
export function escapedPlaces(text: string, places: readonly number[]): number[] {
  const found: number[] = [];
  let shift = 0;
  const take = (until: number) => {
    while (found.length < places.length && places[found.length]! <= until) {
      found.push(places[found.length]! + shift);
    }
  };
  for (const { 0: escape, index } of text.matchAll(escapes)) {
    take(index - shift);
    shift += escape.length - meaningOf(escape).length;
  }
  take(Infinity);
  return found;
}

function meaningOf(escape: string): string {
  const known = meanings[escape.toLowerCase()];
  if (known !== undefined) return known;
  if (escape.startsWith("\\")) {
    return escape.length === 2
      ? escape.slice(1)
      : String.fromCharCode(Number(`0x${escape.slice(2)}`));
  }
  try {
    if (escape.startsWith("%")) return decodeURIComponent(escape);
    return String.fromCodePoint(Number(escape.slice(1, -1).replace("#", "0")));
  } catch {
    return escape;
  }
}
