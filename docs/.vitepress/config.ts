import { defineConfig } from "vitepress";

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  cleanUrls: true,
  themeConfig: {
    search: { provider: "local" },
  },
});
