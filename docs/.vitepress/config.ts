import { defineConfig } from "vitepress";
import { writeLlms } from "../build/write-llms.mjs";
import { sidebar } from "./sidebar.ts";

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  cleanUrls: true,
  buildEnd: (config) => writeLlms(config, { optional: ["API", "Evidence", "Decisions"] }),
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/durable-mcp/durable-mcp" }],
    nav: [{ text: "llms.txt", link: "/llms.txt", target: "_blank" }],
    outline: [2, 3],
    sidebar,
  },
});
