import { readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { publicEntries } from "../../scripts/public-entries.mjs";

/** The pages of a folder of docs/ by their titles, with its index as the group. */
function group(text: string, folder: string) {
  const directory = new URL(`../${folder}/`, import.meta.url);
  const items = readdirSync(directory)
    .filter((file) => file.endsWith(".md") && file !== "index.md")
    .toSorted()
    .map((file) => {
      const [title = ""] = readFileSync(new URL(file, directory), "utf8").split("\n");
      const name = title.replace(/^# /, "").replaceAll("`", "");
      return { text: name, link: `/${folder}/${file.replace(/\.md$/, "")}` };
    });
  return { text, items };
}

export default defineConfig({
  title: "Durable MCP",
  description: "Durable MCP connections for AI SDK agents.",
  cleanUrls: true,
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/durable-mcp/durable-mcp" }],
    outline: [2, 3],
    sidebar: [
      {
        text: "Guide",
        items: [
          { text: "Getting started", link: "/getting-started" },
          { text: "Concepts", link: "/concepts" },
          { text: "Architecture", link: "/architecture" },
        ],
      },
      group("Guides", "guides"),
      group("Reference", "reference"),
      {
        text: "API",
        link: "/api/",
        collapsed: true,
        items: publicEntries().map(({ name }) => ({
          text: name,
          link: `/api/${name}`,
        })),
      },
      {
        text: "Evidence",
        items: [
          { text: "Comparison", link: "/comparison" },
          { text: "Compatibility", link: "/compatibility" },
          { text: "Conformance", link: "/conformance" },
          { text: "Requirements", link: "/requirements" },
          { text: "Reliability", link: "/reliability" },
          { text: "Simulation", link: "/simulation" },
          { text: "Benchmarks", link: "/benchmarks" },
          { text: "Benchmarks of the server", link: "/benchmarks-server" },
        ],
      },
      { ...group("Errors", "errors"), link: "/errors/", collapsed: true },
      { ...group("Decisions", "decisions"), link: "/decisions/", collapsed: true },
    ],
  },
});
