import { existsSync, readdirSync, readFileSync } from "node:fs";
import { publicEntries } from "../../scripts/public-entries.mjs";

interface Item {
  readonly text: string;
  readonly link: string;
}

const docs = new URL("../", import.meta.url);

/** A page by its title, from its path without the ending: `guides/tools`. */
function page(path: string): Item {
  const file = existsSync(new URL(`${path}.md`, docs)) ? path : `${path}/index`;
  const text = readFileSync(new URL(`${file}.md`, docs), "utf8");
  const [, title = path] = /^# (.*)$/m.exec(text) ?? [];
  return { text: title.replaceAll("`", ""), link: `/${file.replace(/index$/, "")}` };
}

/** The pages of a folder that no group above has, by their names. */
function rest(folder: string, above: readonly string[] = []): string[] {
  if (!existsSync(new URL(`${folder}/`, docs))) return [];
  return readdirSync(new URL(`${folder}/`, docs))
    .filter((file) => file.endsWith(".md") && file !== "index.md")
    .map((file) => `${folder}/${file.slice(0, -".md".length)}`)
    .filter((path) => !above.includes(path))
    .toSorted();
}

/** Paths in the order in which somebody needs them, by group. */
const guides = {
  Tasks: [
    "guides/durable-sessions",
    "guides/carry-the-state",
    "guides/questions",
    "guides/long-calls",
    "guides/news",
    "guides/sign-in",
    "guides/manage-sessions",
  ],
  Guides: [
    "guides/connections",
    "guides/servers-without-sessions",
    "guides/streaming",
    "guides/tools",
    "guides/when-a-server-forgets-you",
    "guides/runs-and-names",
    "guides/stdio",
    "guides/choosing-a-store",
    "guides/sealing",
    "guides/observability",
    "guides/testing",
    "guides/probe",
    "guides/server",
  ],
  Clients: [
    "clients",
    "guides/gateway",
    "guides/langchain",
    "guides/openai-agents",
    "guides/migrating",
    "guides/workflow",
    "guides/eve",
    "guides/other-engines",
  ],
};
guides.Guides.push(...rest("guides", Object.values(guides).flat()));

const group = (text: string, paths: readonly string[], collapsed = true) => ({
  text,
  collapsed,
  items: paths.map(page),
});
/** Written by docs/build/write-api-pages.mjs. */
const api = {
  text: "API",
  collapsed: true,
  items: [
    { text: "All packages", link: "/api/" },
    ...publicEntries().map(({ name }) => ({ text: name, link: `/api/${name}` })),
  ],
};

/** The order of need: what somebody does, then where it runs, what it is, why it is so. What most need is open. */
export const sidebar = [
  group("Start", ["getting-started", "recipes", "troubleshooting"], false),
  group("Tasks", guides.Tasks, false),
  group("Guides", guides.Guides),
  group("Clients and frameworks", guides.Clients),
  group("Deployment", ["deploy", ...rest("deploy")]),
  group("Reference", ["errors", ...rest("reference")]),
  api,
  group("How it works", ["concepts", "upstream"]),
  group("Results", ["results", "comparison"]),
];
