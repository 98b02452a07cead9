import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { mapLinks, plain, titleOf, withoutComments } from "../../scripts/read-markdown.mjs";

const onGitHub = "https://github.com/durable-mcp/durable-mcp/blob/main/docs/";

/**
 * Writes what a language model reads of the built docs: each page as markdown beside its HTML, `llms.txt`, which lists
 * them by the groups of the sidebar, and `llms-full.txt`, which holds
 * them in that order after the home page, but for the generated ones.
 *
 * @param config VitePress's, at the end of a build
 * @param options.optional groups of the sidebar that a reader in a hurry leaves out
 * @param options.generated those that `llms-full.txt` leaves out
 * @see https://llmstxt.org
 */
export function writeLlms({ srcDir, outDir, pages, site }, { optional, generated }) {
  const texts = new Map(
    pages.map((page) => [page, forModels(readFileSync(join(srcDir, page), "utf8"))]),
  );
  const write = (file, text) => {
    mkdirSync(dirname(join(outDir, file)), { recursive: true });
    writeFileSync(join(outDir, file), text);
  };
  for (const [page, text] of texts) write(page, text);

  const groups = site.themeConfig.sidebar.map((group) => ({
    name: group.text,
    pages: linksOf(group).map((link) => pageOf(link, texts)),
  }));
  const missing = [...optional, ...generated].filter(
    (name) => !groups.some((group) => group.name === name),
  );
  if (missing.length > 0)
    throw new Error(`No group of the sidebar is named ${missing.join(", ")}.`);
  const needed = groups.filter(({ name }) => !optional.includes(name));
  const skippable = groups.filter(({ name }) => optional.includes(name));

  const entry = (page) => {
    const { title, note } = summaryOf(texts.get(page));
    return `- [${title}](${site.base}${page})${note && `: ${note}`}`;
  };
  const section = (name, of) => [`## ${name}`, of.map(entry).join("\n")];
  const head = [`# ${site.title}`, `> ${site.description}`];
  const list = [
    ...head,
    `All pages but ${generated.join(", ")} in one file: [llms-full.txt](${site.base}llms-full.txt).`,
    ...needed.flatMap(({ name, pages: own }) => section(name, own)),
    ...section(
      "Optional",
      skippable.flatMap(({ pages: own }) => own),
    ),
  ];
  write("llms.txt", `${list.join("\n\n")}\n`);
  const written = groups.filter(({ name }) => !generated.includes(name));
  const full = ["index.md", ...written.flatMap(({ pages: own }) => own)].map((page) =>
    fromRoot(page, texts.get(page), site.base),
  );
  write("llms-full.txt", `${[...head, ...full].join("\n\n")}\n`);
}

/** The links of a group of the sidebar, its own and those of groups in it, each once. */
function linksOf({ link, items = [] }) {
  return [...new Set([link, ...items.flatMap(linksOf)])].filter((each) => each !== undefined);
}

function pageOf(link, texts) {
  const [path] = link.slice(1).split("#");
  const page = [`${path}.md`, join(path, "index.md")].find((file) => texts.has(file));
  if (page === undefined) throw new Error(`The sidebar links to ${link}, which is no page.`);
  return page;
}

/** Without the anchors of the generated tables. */
function forModels(text) {
  return withoutComments(text).replaceAll(/<a id="[^"]*"><\/a> ?/g, "");
}

/** A page whose links to others work in a file at the root of the site. Pictures have other names there. */
function fromRoot(page, text, base) {
  return mapLinks(text, (target) => {
    if (/^[a-z]+:|^#/.test(target)) return target;
    const path = posix.join(dirname(page), target);
    return /\.md(#|$)/.test(path) ? base + path : onGitHub + path;
  });
}

/** A page's title, and the first sentence of its text; of a generated page, the functions that it describes. */
export function summaryOf(text) {
  const functions = [...text.matchAll(/^### (\w+)\(\)$/gm)].map(([, name]) => name);
  const prose =
    text.split("\n\n").find((part) => /^(?!All types, |Date: )[A-Z`[*]/.test(part)) ?? "";
  const [sentence = ""] = plain(prose)
    .replace(/^Context\.\s*/, "")
    .split(/(?<=[.?])\s/);
  return {
    title: titleOf(text),
    note: functions.length > 0 ? functions.join(", ") : sentence.replace(/:$/, "."),
  };
}
