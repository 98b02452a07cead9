import type { MarkdownRenderer } from "vitepress";

/** A column without a heading gets an empty cell: an empty `th` names nothing to who hears the page. */
export function withoutEmptyHeaders(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("empty_headers", ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "") continue;
      token.tag = "td";
      tokens[index + 2].tag = "td";
    }
  });
}
