import { defineConfig } from "vitepress";
import { slugOfHeading } from "../../scripts/read-markdown.mjs";
import { linkApiPages } from "../build/link-api-pages.mjs";
import { writeLlms } from "../build/write-llms.mjs";
import { sidebar } from "./sidebar.ts";
import { withoutEmptyHeaders } from "./tables.ts";

// Where the pages are deployed: GitHub's are below the repository's name.
const base = process.env["DOCS_BASE"] ?? "/";

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  base,
  cleanUrls: true,
  srcExclude: ["agents/**"], // for tarballs
  markdown: {
    anchor: { slugify: slugOfHeading },
    config: (markdown) => void markdown.use(withoutEmptyHeaders).use(linkApiPages),
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  buildEnd: (config) => writeLlms(config, { optional: ["API", "Results"], generated: ["API"] }),
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/durable-mcp/durable-mcp" }],
    nav: [{ text: "llms.txt", link: `${base}llms.txt`, target: "_blank" }],
    outline: [2, 3],
    sidebar,
  },
});
