import { readFileSync } from "node:fs";
import { join } from "node:path";
import { summaryOf } from "./write-llms.mjs";

/** Gives a page its first sentence as its description. One that docstrings are the source of has no file to edit. */
export function describePage(page, { siteConfig: { srcDir } }) {
  if (page.isNotFound) return;
  const { note } = summaryOf(readFileSync(join(srcDir, page.filePath), "utf8"));
  page.description = note || page.description;
  if (page.relativePath.startsWith("api/")) page.frontmatter.editLink = false;
}

/** What others show of a page that is linked to. */
export function headOf(title, { relativePath, description }, site) {
  if (relativePath === "404.md") return [["meta", { name: "robots", content: "noindex" }]];
  const url = site + relativePath.replace(/(^|\/)index\.md$|\.md$/, "$1");
  const properties = {
    title,
    description,
    url,
    type: "website",
    image: `${site}link-picture.png`,
    "image:width": "1200",
    "image:height": "630",
    "image:alt": "Four steps in four processes, and one MCP session under all of them.",
  };
  return [
    ["link", { rel: "canonical", href: url }],
    ["meta", { name: "twitter:card", content: "summary_large_image" }],
    ...Object.entries(properties).map(([name, content]) => [
      "meta",
      { property: `og:${name}`, content },
    ]),
  ];
}
