// Writes what the package in the working directory ships to be read in node_modules, before it is packed:
//
//     node ../../scripts/write-package-docs.mjs
//
// - `docs/` has its pages of scripts/package-pages.mjs, under the same paths. Links to other pages lead to GitHub,
//   pictures too; those to its own README and sources lead there, and to `dist/`, where the docstrings are.
// - `AGENTS.md` is docs/agents/<package>.md, with a list of the entry points and of the pages.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { packagePages } from "./package-pages.mjs";
import { mapLinks, titleOf, withoutComments } from "./read-markdown.mjs";

const docs = fileURLToPath(new URL("../docs/", import.meta.url));
const onGitHub = "https://github.com/durable-mcp/durable-mcp/blob/main/";
const folder = basename(process.cwd());
const { publishConfig } = JSON.parse(readFileSync("package.json", "utf8"));
const pages = packagePages[folder]?.map((path) => `${path}.md`);
if (pages === undefined) {
  throw new Error(`packages/${folder} has no pages: name them in scripts/package-pages.mjs.`);
}

rmSync("docs", { recursive: true, force: true });
const texts = new Map(pages.map((page) => [page, read(page)]));
for (const [page, text] of texts) write(`docs/${page}`, forPackage(page, text, `docs/${page}`));
const agents = `agents/${folder}.md`;
write("AGENTS.md", forPackage(agents, `${read(agents)}\n\n${contents()}`, "AGENTS.md"));

/** A page, with what it includes. */
function read(page) {
  const text = readFileSync(join(docs, page), "utf8").replaceAll(
    /^<!--@include: (\S+)-->$/gm,
    (_, included) => readFileSync(join(docs, dirname(page), included), "utf8").trim(),
  );
  return withoutComments(text);
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
}

/** The end of AGENTS.md. */
function contents() {
  const types = Object.entries(publishConfig.exports)
    .filter(([subpath, { types: file }]) => file && !subpath.endsWith("/internal"))
    .map(
      ([subpath, { types: file }]) => `[\`${subpath}\`](../../packages/${folder}/${file.slice(2)})`,
    );
  const links = [...texts].map(([page, text]) => `[${titleOf(text)}](../${page})`);
  return [
    "## The rest, in this package",
    `- All pages: ${links.join(", ")}.`,
    ...(types.length > 0 ? [`- All options, in the docstrings of ${types.join(", ")}.`] : []),
  ].join("\n");
}

/** The text of a page of docs/, with links that work where the package has it. */
function forPackage(page, text, file) {
  return mapLinks(text.replaceAll(/^!\[/gm, "Picture: ["), (target) => {
    const isUrl = /^[a-z]+:/.test(target);
    if (target.startsWith("#") || (isUrl && !target.startsWith(onGitHub))) return target;
    const [path, anchor] = target.split("#");
    const inClone = isUrl ? path.slice(onGitHub.length) : posix.join("docs", dirname(page), path);
    const hash = anchor === undefined ? "" : `#${anchor}`;
    const own = inPackage(inClone);
    if (own === undefined) return onGitHub + inClone + hash;
    return posix.relative(dirname(file), own) + (own.endsWith(".md") ? hash : "");
  });
}

/** Where the package has a file of the repository. */
function inPackage(path) {
  if (pages.some((page) => path === `docs/${page}`)) return path;
  const own = path.replace(`packages/${folder}/`, "");
  if (own === "README.md" && own !== path) return own;
  const file = own.replace(/^src\/(.*)\.ts$/, "dist/$1.d.ts");
  return own !== path && file.startsWith("dist/") && existsSync(file) ? file : undefined;
}
