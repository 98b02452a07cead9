import { defineConfig } from "vitepress";
import { sidebar } from "./sidebar.ts";

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  cleanUrls: true,
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/durable-mcp/durable-mcp" }],
    outline: [2, 3],
    sidebar,
  },
});
