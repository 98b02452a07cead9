/** About how wide a text of the picture is, in pixels. The font is the reader's own, so nobody knows before. */
export function widthOfText(text: string): number {
  let width = 0;
  for (const letter of text) {
    if (/[ijlt.,:;'|! ()]/.test(letter)) width += 3.9;
    else if (/[mwMW@]/.test(letter)) width += 9.6;
    else if (letter > "\u1100") width += 12;
    else width += /[A-Z]/.test(letter) ? 7.8 : 6.6;
  }
  return width;
}

/** The text, cut where there is no more room for it. */
export function fit(text: string, width: number): string {
  if (widthOfText(text) <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && widthOfText(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}
