/** A shorter secret is only replaced where it stands alone: inside other words it is a coincidence. */
const shortLength = 8;
/** Well-meaning servers repeat a secret less often. From here on, the rest of a text is cut off. */
const maxReplaced = 1_000;
/** The same of texts with escapes, in characters: from here on, they are read as they are. */
const maxUnescaped = 2_097_152;

/**
 * Makes a function that replaces secrets in the texts of one answer, however they are escaped: in URLs and forms, in
 * HTML, in strings of JSON, and in several of these at once. A secret of fewer than 8 characters is only replaced
 * where no letter or digit stands beside it. Texts grow by 1,000 placeholders in all, whatever a server sends: after
 * that, each text ends before its first secret.
 */
export function createScrubber(
  secrets: readonly string[],
  placeholder: string,
): (text: string) => string {
  // A secret may be a part of another one.
  const longestFirst = [...new Set(secrets)]
    .filter((secret) => secret !== "")
    .toSorted((a, b) => b.length - a.length)
    .map((secret) => ({ secret, plain: unescapedLevels(secret).at(-1)! }));
  let left = maxReplaced;
  let leftUnescaped = maxUnescaped;

  /** Where each place of the secret begins and ends. Without an end, the rest of the text is cut off. */
  const placesOf = (text: string, secret: string): number[] => {
    const places: number[] = [];
    let from = 0;
    for (let at = -1; (at = text.indexOf(secret, Math.max(from, at + 1))) !== -1;) {
      const end = at + secret.length;
      const isInWord = isWordLike(text[at - 1]) || isWordLike(text[end]);
      if (isInWord && secret.length < shortLength) continue;
      places.push(at);
      if (left === 0) break;
      left -= 1;
      places.push(end);
      from = end;
    }
    return places;
  };

  const cutOutEscaped = (text: string, plain: string): string[] => {
    const levels = unescapedLevels(text);
    const places = placesOf(levels.pop()!, plain);
    return around(
      text,
      levels.reduceRight((found, level) => escapedPlaces(level, found), places),
    );
  };

  return (text) => {
    const said = text.length > leftUnescaped ? text : unescapedLevels(text).at(-1)!;
    if (said !== text) leftUnescaped -= text.length;
    let pieces = [text];
    for (const { secret, plain } of longestFirst) {
      const isEscaped = (said !== text || plain !== secret) && said.includes(plain);
      if (isEscaped) pieces = pieces.flatMap((piece) => cutOutEscaped(piece, plain));
      // What stands before it may make it part of an escape.
      pieces = pieces.flatMap((piece) => around(piece, placesOf(piece, secret)));
    }
    // The placeholder comes last, so that no secret is looked for in it.
    return pieces.join(placeholder);
  };
}

/** The text around places. */
function around(text: string, places: readonly number[]): string[] {
  const pieces: string[] = [];
  let from: number | undefined = 0;
  for (let index = 0; index < places.length; index += 2) {
    pieces.push(text.slice(from, places[index]));
    from = places[index + 1];
  }
  return from === undefined ? pieces : [...pieces, text.slice(from)];
}

/** Replaces secrets in one text. @see createScrubber */
export function scrubText(text: string, secrets: readonly string[], placeholder: string): string {
  return createScrubber(secrets, placeholder)(text);
}

/**
 * A copy of a JSON value, of any depth, with each string scrubbed, keys included.
 *
 * @param names top-level members whose names stay unchanged
 */
export function scrubJson(
  value: unknown,
  scrub: (text: string) => string,
  names: readonly string[] = [],
): unknown {
  const copies: [from: object, to: object][] = [];
  const copyOf = (item: unknown): unknown => {
    if (typeof item === "string") return scrub(item);
    if (typeof item !== "object" || item === null) return item;
    const to = Array.isArray(item) ? [] : {};
    copies.push([item, to]);
    return to;
  };
  const copy = copyOf(value);
  // The list grows while it is walked. Recursion would end at the depth of the stack.
  for (const [from, to] of copies) {
    for (const [key, item] of Object.entries(from)) {
      const isKept = Array.isArray(from) || (from === value && names.includes(key));
      // Setting `__proto__` would not make a member.
      Object.defineProperty(to, isKept ? key : scrub(key), {
        value: copyOf(item),
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
  return copy;
}

function isWordLike(character: string | undefined): boolean {
  return character !== undefined && /[\dA-Za-z]/.test(character);
}

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
function escapedPlaces(text: string, places: readonly number[]): number[] {
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
