/**
 * What writes over a terminal, breaks a line or turns its direction: controls and marks that have no shape. Line
 * breaks and tabs stay, and the joiners that scripts and emoji need.
 */
export const unprintable = /(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text from outside as it may be printed. What is left out becomes a space, or it could join a secret's halves. */
export function plainText(text: string): string {
  return text.replaceAll(unprintable, " ");
}

/** The same on one line, cut after so many characters. */
export function oneLine(text: string, longest = 200): string {
  const line = text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
