import { plainText } from "@durable-mcp/core/internal";

/** Markup of a page. Only `markup`, `raw` and `attributes` make it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | false | undefined | readonly Part[];

/** Markup with parts. A text is shown as it is, whoever wrote it, and turns no direction. */
export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.map((text, at) => text + print(parts[at])).join(""));
}

/** A text that a form gives back unchanged, for an attribute's value. */
export function raw(text: string): Html {
  return new Html(escape(text));
}

/** Attributes with their values. `true` stands alone; one without a value is left out. */
export function attributes(values: Readonly<Record<string, Part | true>>): Html {
  const texts = Object.entries(values).map(([name, value]) => {
    if (value === undefined || value === false) return "";
    return value === true ? ` ${name}` : ` ${name}="${print(value)}"`;
  });
  return new Html(texts.join(""));
}

function print(part: Part | true): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(print).join("");
  return part === undefined || part === false ? "" : escape(plainText(`${part}`));
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"'\r\n]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
