// The newest AI SDK, MCP SDKs and frameworks, within the majors that the catalog has, and what else is there:
//
//     node scripts/newest.mjs           prints them as Markdown
//     node scripts/newest.mjs --write   and sets the catalog of pnpm-workspace.yaml to them, and the frameworks of
//                                       docs/clients; `pnpm install` is next, and there `npm install`
//     node scripts/newest.mjs --tell    opens an issue, or edits the open one: with REPORT (what --write has printed),
//                                       RED (the parts that failed) and RUN_URL, through `gh`
//
// Needs Node and npm, and no dependencies.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What docs/clients shows, in its folder beside the catalog. */
const frameworks = "packages/e2e/compatibility/frameworks/package.json";
const ofFrameworks = [
  ...["@genkit-ai/mcp", "@google/adk", "@mastra/mcp", "@openai/agents", "@strands-agents/sdk"],
  "@tanstack/ai-mcp",
];
const packages = new Set([
  "ai",
  "@ai-sdk/mcp",
  "@ai-sdk/otel",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/node",
  "@modelcontextprotocol/sdk",
  "@modelcontextprotocol/server",
]);
/** Of the one issue that may be open. */
const title = "The newest AI SDK or MCP SDKs turn a nightly check red";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const [option] = process.argv.slice(2);
if (option === "--tell") tell(process.env);
else update({ writes: option === "--write" });

function update({ writes }) {
  const file = "pnpm-workspace.yaml";
  const text = readFileSync(file, "utf8");
  const [catalog] = /^catalog:\n(?: .*\n)+/m.exec(text) ?? [];
  if (catalog === undefined) throw new Error(`${file} has no catalog.`);
  const rows = [];
  const majors = new Map();
  const newest = catalog.replaceAll(
    /^( {2}"?(?:[^":]+)"?: (?:npm:)?)(.+)$/gm,
    (line, start, value) => {
      const [, alias, version] = /^(?:(.+)@)?(\d+\.\d+\.\d+)$/.exec(value) ?? [];
      const name = alias ?? /[^" ]+(?=")|[^" :]+/.exec(start)?.[0];
      if (version === undefined || !packages.has(name)) return line;
      const found = view(name);
      const next = newestOf(found.versions, version);
      majors.set(name, {
        latest: found["dist-tags"].latest,
        known: [...(majors.get(name)?.known ?? []), version],
      });
      rows.push(`| \`${name}\` | ${version} | ${next === version ? "the same" : next} |`);
      return alias === undefined ? `${start}${next}` : `${start}${alias}@${next}`;
    },
  );
  const manifest = JSON.parse(readFileSync(frameworks, "utf8"));
  for (const name of ofFrameworks) {
    const { versions, "dist-tags": tags } = view(name);
    const version = manifest.dependencies[name];
    const next = newestOf(versions, version);
    majors.set(name, { latest: tags.latest, known: [version] });
    rows.push(`| \`${name}\` | ${version} | ${next === version ? "the same" : next} |`);
    manifest.dependencies[name] = next;
  }
  const others = [...majors].filter(([, { latest, known }]) =>
    known.every((version) => majorOf(version) < majorOf(latest)),
  );
  console.log(["| package | catalog | newest |", "| --- | --- | --- |", ...rows].join("\n"));
  for (const [name, { latest }] of others) console.log(`\n**A new major:** \`${name}\` ${latest}`);
  if (!writes) return;
  writeFileSync(
    file,
    text.replace(catalog, () => newest),
  );
  writeFileSync(frameworks, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** The newest release of a version's major. Prereleases are not asked for. */
function newestOf(versions, version) {
  const releases = versions.filter((each) => /^\d+\.\d+\.\d+$/.test(each));
  return (
    releases
      .filter((each) => majorOf(each) === majorOf(version))
      .toSorted(compare)
      .at(-1) ?? version
  );
}

function majorOf(version) {
  return Number.parseInt(version, 10);
}

function compare(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}

function view(name) {
  const args = ["view", name, "versions", "dist-tags", "--json"];
  return JSON.parse(execFileSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }));
}

function tell({ REPORT, RED, RUN_URL }) {
  if (!REPORT || !RED || !RUN_URL) throw new Error("It needs REPORT, RED and RUN_URL.");
  const body = [
    `Red with the newest releases: **${RED}** ([the run](${RUN_URL})).`,
    REPORT,
    "The other jobs of that run have the versions of the catalog. The next red night edits this text; nothing closes the issue by itself.",
  ].join("\n\n");
  const listed = gh(
    "issue",
    "list",
    "--state",
    "open",
    "--limit",
    "1000",
    "--json",
    "number,title",
  );
  const open = JSON.parse(listed).find((issue) => issue.title === title);
  const change = open === undefined ? ["create", "--title", title] : ["edit", String(open.number)];
  console.log(gh("issue", ...change, "--body", body).trim());
}

function gh(...args) {
  return execFileSync("gh", args, { encoding: "utf8" });
}
