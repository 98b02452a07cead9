// Looks at what a packed package has to be read, as scripts/write-package-docs.mjs has written it:
//
//     node ../../scripts/check-tarball.mjs package.tgz
//
// - AGENTS.md is one screen, and docs/ has the pages of scripts/package-pages.mjs.
// - Relative links lead to files and headings of the tarball. No picture and no mark of an include is left.
// - Every file that its modules find by address is there.
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, posix } from "node:path";
import { wrongAddresses } from "./found-files.mjs";
import { packagePages } from "./package-pages.mjs";
import { readMarkdown } from "./read-markdown.mjs";

const linesOfScreen = 60;
const [tarball] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "check-tarball-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
const problems = wrongAddresses(folder);

const texts = new Map(
  globSync(["AGENTS.md", "docs/**/*.md"], { cwd: folder })
    .map((file) => file.replaceAll("\\", "/"))
    .map((file) => [file, readFileSync(join(folder, file), "utf8")]),
);
const pages = new Map([...texts].map(([file, text]) => [file, readMarkdown(text)]));
const wanted = packagePages[basename(process.cwd())].map((path) => `docs/${path}.md`);
for (const file of ["AGENTS.md", ...wanted]) {
  if (!pages.has(file)) problems.push(`There is no ${file}.`);
}
for (const file of pages.keys()) {
  if (file !== "AGENTS.md" && !wanted.includes(file)) problems.push(`Nobody asked for ${file}.`);
}
const { length } = (texts.get("AGENTS.md") ?? "").split("\n");
if (length - 1 > linesOfScreen) {
  problems.push(`AGENTS.md has ${length - 1} lines, and a screen ${linesOfScreen}.`);
}
let links = 0;
for (const [file, page] of pages) {
  if (/^!\[|^<!--/m.test(texts.get(file))) problems.push(`${file} has a picture or a comment.`);
  for (const { line, target } of page.links) {
    if (/^[a-z]+:/.test(target)) continue;
    links += 1;
    const wrong = wrongOf(file, target);
    if (wrong !== undefined) problems.push(`${file}:${line} ${wrong}`);
  }
}

for (const problem of problems) console.error(problem);
const kB = Math.ceil(statSync(tarball).size / 1_000);
console.log(`${pages.size} pages, ${links} links, ${kB} kB, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** What is wrong with a relative link of a file, or `undefined`. */
function wrongOf(file, target) {
  const [path, anchor] = target.split("#");
  const found = path === "" ? file : posix.join(dirname(file), path);
  if (!existsSync(join(folder, found))) return `There is no ${found} in the tarball.`;
  if (anchor === undefined || pages.get(found)?.anchors.has(anchor)) return undefined;
  return `${found} has no heading #${anchor}.`;
}
