import { unprintable } from "@durable-mcp/core/internal";

/** Text that is markup already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Markup | string | number | undefined | false | readonly Value[];

/** Makes HTML or SVG. Whatever is put in is escaped, unless it is markup. */
export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const pieces = parts.map((part, index) => part + textOf(values[index]));
  return new Markup(pieces.join(""));
}

function textOf(value: Value): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === "object") return value.map(textOf).join("");
  if (value === undefined || value === false) return "";
  return escapeText(String(value));
}

/** Also without what XML does not allow, and what turns the direction of the text around it. */
function escapeText(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- these are what is left out
      .replaceAll(/[\u0000-\u001F\u007F-\u009F\uFFFE\uFFFF]/g, " ")
      .replaceAll(unprintable, "")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;")
  );
}
