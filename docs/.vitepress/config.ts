import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { slugOfHeading } from "../../scripts/read-markdown.mjs";
import { describePage, headOf } from "../build/head.mjs";
import { linkApiPages } from "../build/link-api-pages.mjs";
import { miniSearch, renderForSearch } from "../build/search.mjs";
import { writeLlms } from "../build/write-llms.mjs";
import { sidebar } from "./sidebar.ts";
import { withoutEmptyHeaders } from "./tables.ts";

// Where the pages are deployed: GitHub's are below the repository's name.
const base = process.env["DOCS_BASE"] ?? "/";
const origin = "https://durable-mcp.github.io";
const repository = "https://github.com/durable-mcp/durable-mcp";

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  base,
  cleanUrls: true,
  lastUpdated: existsSync(new URL("../../.git", import.meta.url)),
  sitemap: { hostname: origin + base },
  srcExclude: ["agents/**"], // for tarballs
  markdown: {
    anchor: { slugify: slugOfHeading },
    config: (markdown) => void markdown.use(withoutEmptyHeaders).use(linkApiPages),
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  head: [["link", { rel: "icon", href: `${base}favicon.svg`, type: "image/svg+xml" }]],
  transformPageData: describePage,
  transformHead: ({ title, pageData }) => headOf(title, pageData, origin + base),
  buildEnd: (config) => writeLlms(config, { optional: ["API", "Results"], generated: ["API"] }),
  vite: {
    resolve: {
      alias: [
        {
          find: /^.*\/VPSidebarGroup\.vue$/,
          replacement: fileURLToPath(new URL("theme/SidebarGroup.vue", import.meta.url)),
        },
      ],
    },
    // The index of the search is one file, and loaded by itself.
    build: { chunkSizeWarningLimit: 1_000 },
  },
  themeConfig: {
    logo: "/favicon.svg",
    search: { provider: "local", options: { _render: renderForSearch, miniSearch } },
    socialLinks: [{ icon: "github", link: repository }],
    nav: [
      { text: "Getting started", link: "/getting-started" },
      { text: "API", link: "/api/" },
      { text: "llms.txt", link: `${base}llms.txt`, target: "_blank" },
    ],
    outline: [2, 3],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
    lastUpdated: { formatOptions: { dateStyle: "medium" } },
    sidebar,
  },
});
