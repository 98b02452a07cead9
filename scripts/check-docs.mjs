// Checks the documentation against the code:
//
//     node scripts/check-docs.mjs
//
// - Every `ts` and `tsx` block is typechecked against the sources. A block is a complete module; what a reader knows from
//   the text around it stands in an HTML comment before the block, `<!-- given` … `-->`, and is compiled with it.
//   A comment that declares a module stands for a package that is not installed here.
//   Of a `diff` block, the code after the change is the module. After `<!-- from <file> -->` a block is a part of that
//   file of the repository, which is compiled and run where it is.
// - `npm run smoke:pages` runs the blocks of guides and READMEs. One that cannot run says why, `<!-- not run: … -->`;
//   at most ten may.
// - Every `json` block parses, and every snapshot and every `session.state` in one loads.
// - Links and anchors lead somewhere in a clone, also those to files of this repository on GitHub: none to docs/api,
//   which is generated. Links to elsewhere are well-formed and go over https; nothing is sent.
// - The sidebar has every page of docs/, but for reports and decisions, which docs/results.md and others link to.
// - The way of a call in ARCHITECTURE.md names files that are there.
// - No placeholder (two at signs, a word, two at signs) and no mark of a merge conflict is left.
// - Every error code has its heading, every event its heading or row, every public name its docstring, and no
//   code is documented that is gone.
//
// Needs Node 22.18 (it imports the sources) and the installed dependencies, nothing else.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { sidebar } from "../docs/.vitepress/sidebar.ts";
import { parseSessionSnapshot, sessionKey } from "../packages/core/src/index.ts";
import { checkReference } from "./check-reference.mjs";
import { apiPageOf } from "./public-entries.mjs";
import { readMarkdown } from "./read-markdown.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const repository = "https://github.com/durable-mcp/durable-mcp/";
const problems = [];
const problem = (file, line, text) => problems.push(`${file}:${line} ${text}`);
const read = (file) => readFileSync(join(root, file), "utf8");

const patterns = [
  "docs/**/*.md",
  "*.md",
  ".github/*.md",
  "packages/*/README.md",
  "examples/*/README.md",
];
const pages = new Map(
  globSync(patterns, {
    cwd: root,
    exclude: (name) => /(^|\/)(node_modules|dist|docs\/api)$/.test(name),
  })
    .toSorted()
    .map((file) => [file, readMarkdown(read(file))]),
);
const blocksIn = (language) =>
  [...pages].flatMap(([file, { blocks }]) =>
    blocks.filter((block) => block.language === language).map((block) => ({ file, ...block })),
  );

/** What a clone has. Without git everything counts that is there. */
const { stdout: listed } = spawnSync("git", ["ls-files"], { cwd: root, encoding: "utf8" });
const tracked = listed ? new Set(listed.split("\n").flatMap(withFolders)) : undefined;

/** Where the workspace has a package under another name than a reader: [the reader's, ours]. */
const installed = { "docs/clients/ai-sdk-mcp-1.md": ['"@ai-sdk/mcp"', '"ai-sdk-mcp-1"'] };

/** Of all blocks, for what is not run is not proven. */
const mayNotRun = 10;

const counts = {
  pages: pages.size,
  "ts blocks": checkTypes(),
  "parts of files": checkParts(),
  "blocks that are not run": checkNotRun(),
  "json blocks": checkJson(),
  links: checkLinks(),
  "pages in the sidebar": checkSidebar(),
  "files on a call's way": checkWay(),
  placeholders: checkPlaceholders(),
  "error codes": checkErrorPages(),
  "documented names": checkReference(read, problem),
};
for (const text of problems) console.error(text);
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", "),
);
console.log(
  problems.length === 0 ? "The docs agree with the code." : `${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** The lines of the drawing that begin with a package, or with spaces for the one above, and then name a file. */
function checkWay() {
  const file = "ARCHITECTURE.md";
  const [, way = ""] = /\n## One call on its way\n.*?```\n(.*?)```/s.exec(read(file)) ?? [];
  let inPackage = "";
  const sources = way.split("\n").flatMap((line) => {
    const [, own = "", name] = /^([a-z-]*) +([a-z-]+(?:\/[a-z-]+)*) {2}/.exec(line) ?? [];
    inPackage = own || inPackage;
    return name ? [`packages/${inPackage}/src/${name}.ts`] : [];
  });
  for (const source of sources) {
    if (!existsSync(join(root, source))) problem(file, 0, `names ${source}, which is not there`);
  }
  if (sources.length === 0) problem(file, 0, "draws no way of a call");
  return sources.length;
}

/** Compiles each block as a module of its own, at the lines where it stands in its page. */
function checkTypes() {
  const folder = mkdtempSync(join(tmpdir(), "check-docs-"));
  try {
    linkDependencies(folder);
    const blocks = [
      ...["ts", "tsx"].flatMap(blocksIn).filter(({ from }) => from === undefined),
      ...blocksIn("diff").map((block) => Object.assign(block, { code: afterChange(block.code) })),
    ];
    const declarations = [];
    const files = blocks.map(({ file, line, language, code: written, given }, index) => {
      const name = `block-${index}.${language === "tsx" ? "tsx" : "ts"}`;
      const code = installed[file] ? written.replaceAll(...installed[file]) : written;
      const declares = given?.code.startsWith("declare module");
      if (declares) {
        declarations.push(`block-${index}-given.d.ts`);
        writeFileSync(join(folder, declarations.at(-1)), given.code);
      }
      const parts = given && !declares ? [given, { line, code }] : [{ line, code }];
      const text = parts.reduce(
        (before, part) => before + "\n".repeat(part.line - before.split("\n").length) + part.code,
        "",
      );
      writeFileSync(join(folder, name), text);
      return { name, file };
    });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const config = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      files: [...files.map(({ name }) => name), ...declarations],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [tsc, "-p", folder, "--pretty", "false"],
      {
        cwd: folder,
        encoding: "utf8",
      },
    );
    let found = 0;
    for (const line of stdout.split("\n")) {
      const [, name, at, text] = /^(block-\d+\.tsx?)\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
      if (name === undefined) continue;
      found += 1;
      problem(files.find((file) => file.name === name).file, at, text);
    }
    if (status !== 0 && found === 0) problem("tsc", status, stdout + stderr);
    return files.length;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkParts() {
  const parts = [...pages].flatMap(([file, { blocks }]) =>
    blocks.filter(({ from }) => from !== undefined).map((block) => ({ file, ...block })),
  );
  for (const { file, line, from, code } of parts) {
    const isThere = existsSync(join(root, from)) && read(from).includes(code);
    if (!isThere) problem(file, line, `This is no part of ${from}.`);
  }
  return parts.length;
}

function checkNotRun() {
  const blocks = [...pages].flatMap(([file, page]) =>
    page.blocks.filter(({ notRun }) => notRun !== undefined).map((block) => ({ file, ...block })),
  );
  for (const { file, line } of blocks.slice(mayNotRun)) {
    problem(file, line, `${blocks.length} blocks are not run, and ${mayNotRun} may be.`);
  }
  return blocks.length;
}

/** What a diff leaves, at the lines where it stands. */
function afterChange(code) {
  return code
    .split("\n")
    .map((line) => (line.startsWith("-") ? "" : line.slice(1)))
    .join("\n");
}

/** What a reader can install: our packages, and everything that one of the workspace's packages depends on. */
function linkDependencies(folder) {
  for (const name of [
    "core",
    "ai-sdk",
    "sessions",
    "gateway",
    "langchain",
    "oauth",
    "openai-agents",
    "react",
    "stores",
    "testing",
    "workflow",
  ])
    link(`packages/${name}`, `node_modules/@durable-mcp/${name}`);
  // Of two releases of a package the one of packages/ai-sdk, which is first by name.
  const patternsOfPackages = [
    ...["packages/*/node_modules/@*/*", "packages/*/node_modules/[!.@]*"],
    "packages/examples/eve/node_modules/eve",
  ];
  for (const path of globSync(patternsOfPackages, { cwd: root }).toSorted()) {
    link(path, path.slice(path.indexOf("node_modules")));
  }

  function link(from, to) {
    const target = join(folder, to);
    mkdirSync(dirname(target), { recursive: true });
    if (!existsSync(target)) symlinkSync(join(root, from), target, "junction");
  }
}

function checkJson() {
  const blocks = blocksIn("json");
  for (const { file, line, code } of blocks) {
    try {
      const value = JSON.parse(code);
      if (value.kind !== undefined) parseSessionSnapshot(value);
      for (const [key, snapshot] of Object.entries(value.mcpSessions ?? {})) {
        const [connection, type, issuer, id] = JSON.parse(key);
        const expected = sessionKey({ connection, principal: { type, issuer, id } });
        if (key !== expected) throw new Error(`The key ${key} should be ${expected}.`);
        // What stands around that of a named session is checked by a test of it.
        parseSessionSnapshot(connection.startsWith("[") ? snapshot.snapshot : snapshot);
      }
    } catch (error) {
      problem(file, line, error.message);
    }
  }
  return blocks.length;
}

function checkLinks() {
  let count = 0;
  for (const [file, { links }] of pages) {
    for (const { line, target } of links) {
      count += 1;
      const wrong = wrongOf(file, target);
      if (wrong !== undefined) problem(file, line, wrong);
    }
  }
  return count;
}

/** What is wrong with a link of a file, or `undefined`. */
function wrongOf(file, target) {
  if (target.startsWith(repository)) {
    const [, path, anchor] =
      /^(?:blob|tree)\/main\/([^#]*)(?:#(.*))?/.exec(target.slice(repository.length)) ?? [];
    return path && wrongOfPath(path.replace(/\/$/, ""), anchor);
  }
  if (/^[a-z][a-z+.-]*:/i.test(target)) return wrongOfUrl(target);
  const [path, anchor] = decodeURI(target).split("#");
  return wrongOfPath(
    path === "" ? file : relative(root, resolve(root, dirname(file), path)),
    anchor,
  );
}

function wrongOfPath(path, anchor) {
  if (path.startsWith("docs/api/"))
    return `${path} is generated, and GitHub has no such page: link to the source with #name in lower case.`;
  if (!(tracked?.has(path) ?? existsSync(join(root, path))))
    return `There is no ${path} in a clone.`;
  if (anchor === undefined) return undefined;
  if (apiPageOf(path, anchor)) {
    const isNamed = new RegExp(
      `^export [^{]*\\b(?:class|function|interface|type) ${anchor}\\b|^export [^}]*\\b${anchor}\\b`,
      "im",
    );
    return isNamed.test(read(path)) ? undefined : `${path} does not export ${anchor}.`;
  }
  return pages.get(path)?.anchors.has(anchor) ? undefined : `${path} has no heading #${anchor}.`;
}

/** A path, and the folders that it is in. */
function withFolders(path) {
  return [...path.matchAll(/\/|$/g)].map(({ index }) => path.slice(0, index));
}

/** By its form alone: whether the page is there, only its host knows. */
function wrongOfUrl(target) {
  if (!URL.canParse(target)) return `${target} is no URL.`;
  const { protocol, hostname } = new URL(target);
  if (protocol === "mailto:") return undefined;
  if (protocol !== "https:") return `${target} does not go over https.`;
  return hostname.includes(".") ? undefined : `${target} names no host that readers can reach.`;
}

function checkSidebar() {
  const items = sidebar.flatMap((group) =>
    [group, ...group.items].flatMap(({ link }) => link ?? []),
  );
  const named = new Set(items.map((link) => `docs${link.replace(/\/$/, "/index")}.md`));
  for (const file of pages.keys()) {
    if (!file.startsWith("docs/") || file === "docs/index.md" || named.has(file)) continue;
    if (/^docs\/(reports|decisions|agents)\//.test(file)) continue;
    problem(file, 1, "No group of docs/.vitepress/sidebar.ts has this page.");
  }
  return items.length;
}

/** Places that something generated was to be put into, and was not. */
function checkPlaceholders() {
  const found = [...pages.keys()].flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((text, index) =>
        [...text.matchAll(/@@\w+@@|^(?:<{7}|={7}|>{7})(?= |$)/g)].map(([name]) => ({
          file,
          line: index + 1,
          name,
        })),
      ),
  );
  for (const { file, line, name } of found) problem(file, line, `${name} is left.`);
  return found.length;
}

/** Each code has a heading under an anchor with hyphens, `#session-lost`, and no other code has one. */
function checkErrorPages() {
  const file = "docs/errors.md";
  const source = read("packages/core/src/base/mcp-session-error.ts");
  const union = /export type McpSessionErrorCode =([^;]*);/.exec(source)[1];
  const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code);
  const page = pages.get(file);
  for (const code of codes) {
    if (!page.headings.has(code)) problem(file, 1, `There is no heading for ${code}.`);
    const slug = code.toLowerCase().replaceAll("_", "-");
    if (!page.anchors.has(slug)) problem(file, 1, `There is no anchor #${slug}.`);
  }
  for (const heading of page.headings) {
    const isCode = /^[A-Z]+(_[A-Z]+)+$/.test(heading);
    if (isCode && !codes.includes(heading)) problem(file, 1, `${heading} is no error code.`);
  }
  return codes.length;
}
