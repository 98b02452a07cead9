/** A shorter secret is only replaced where it stands alone: inside other words it is a coincidence. */
const shortLength = 8;
/** Well-meaning servers repeat a secret less often. From here on, the rest of a text is cut off. */
const maxReplaced = 1_000;

/**
 * Makes a function that replaces secrets in the texts of one answer, also in their form inside a JSON
 * string. A secret of fewer than 8 characters is only replaced where no letter or digit stands beside
 * it. Texts grow by 1,000 placeholders in all, whatever a server sends: after that, each text ends before
 * its first secret.
 */
export function createScrubber(
  secrets: readonly string[],
  placeholder: string,
): (text: string) => string {
  const forms = new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  forms.delete("");
  // A secret may be a part of another one.
  const longestFirst = [...forms].toSorted((a, b) => b.length - a.length);
  let left = maxReplaced;

  /** The text around each place of the secret. */
  const cutOut = (text: string, secret: string): string[] => {
    const pieces: string[] = [];
    let from = 0;
    for (let at = -1; (at = text.indexOf(secret, Math.max(from, at + 1))) !== -1;) {
      const end = at + secret.length;
      const isInWord = isWordLike(text[at - 1]) || isWordLike(text[end]);
      if (isInWord && secret.length < shortLength) continue;
      pieces.push(text.slice(from, at));
      if (left === 0) return pieces;
      left -= 1;
      from = end;
    }
    return [...pieces, text.slice(from)];
  };

  // The placeholder comes last, so that no secret is looked for in it.
  return (text) =>
    longestFirst
      .reduce((pieces, secret) => pieces.flatMap((piece) => cutOut(piece, secret)), [text])
      .join(placeholder);
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
