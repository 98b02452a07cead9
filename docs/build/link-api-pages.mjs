import { apiPageOf } from "../../scripts/public-entries.mjs";

const onGitHub = "https://github.com/durable-mcp/durable-mcp/";

/** Has links to sources, which GitHub has, lead to the generated pages about them, which the site has. */
export function linkApiPages(markdown) {
  markdown.core.ruler.push("api_pages", ({ tokens }) => {
    const inline = tokens.flatMap(({ children }) => children ?? []);
    for (const token of inline.filter(({ type }) => type === "link_open")) {
      const href = token.attrGet("href");
      if (!href.startsWith(onGitHub)) continue;
      const [path, anchor] = href.slice(onGitHub.length).split("#");
      const page =
        path === "tree/main/packages" ? "" : apiPageOf(path.replace("blob/main/", ""), anchor);
      if (page !== undefined) token.attrSet("href", `/api/${page}${anchor ? `#${anchor}` : ""}`);
    }
  });
}
