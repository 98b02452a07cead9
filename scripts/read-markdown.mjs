/** `[text](target)` with or without a title, `[name]: target`, `<https://…>`, `href="…"` and `src="…"`. */
const linkForms =
  /(?:\]\(|^\[[^\]]+\]: *|<(?=https?:)|\b(?:href|src)=")([^)\s">]+)(?: "[^"]*")?(?:[)">]|$)/g;

/**
 * What scripts/check-docs.mjs needs of a page: its code blocks with their `<!-- given`, `<!-- from` and `<!-- not run:`
 * comments, its links and its headings. Lines count from 1.
 */
export function readMarkdown(text) {
  const blocks = [];
  const links = [];
  const headings = new Set();
  const anchors = new Set();
  const slugs = new Map();
  let block;
  let given;
  let from;
  let notRun;
  let isInGiven = false;

  for (const [index, content] of text.split("\n").entries()) {
    const line = index + 1;
    if (block !== undefined) {
      if (content.trim() === block.fence) {
        blocks.push(block);
        block = given = from = notRun = undefined;
      } else block.code += `${content}\n`;
      continue;
    }
    if (isInGiven) {
      if (content.trim() === "-->") isInGiven = false;
      else given.code += `${content}\n`;
      continue;
    }
    const [, fence, language] = /^ *(```+)(\w*)/.exec(content) ?? [];
    if (fence !== undefined) {
      block = { fence, language, given, from, notRun, line: line + 1, code: "" };
      continue;
    }
    if (content.trim() === "<!-- given") {
      isInGiven = true;
      given = { line: line + 1, code: "" };
      continue;
    }
    const why = /^<!-- not run: (.+) -->$/.exec(content)?.[1];
    if (why !== undefined) {
      notRun = why;
      continue;
    }
    if (content.trim() !== "") {
      given = notRun = undefined;
      from = /^<!-- from (\S+) -->$/.exec(content)?.[1];
    }
    const [, heading] = /^#+ (.*)$/.exec(content) ?? [];
    if (heading !== undefined) {
      headings.add(heading);
      const slug = slugOfHeading(heading);
      const before = slugs.get(slug) ?? 0;
      slugs.set(slug, before + 1);
      anchors.add(before === 0 ? slug : `${slug}-${before}`);
    }
    for (const [, id] of content.matchAll(/<a id="([^"]+)"><\/a>/g)) anchors.add(id);
    const prose = content.replaceAll(/`[^`]*`/g, "");
    for (const [, target] of prose.matchAll(linkForms)) links.push({ line, target });
  }
  return { blocks, links, headings, anchors };
}

/** The anchor of a heading, as GitHub makes it. docs/.vitepress/config.ts has VitePress do the same. */
export function slugOfHeading(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/** A page's title without marks. */
export function titleOf(text) {
  const [, title = ""] = /^# (.*)$/m.exec(text) ?? [];
  return plain(title);
}

/** Without links and marks. */
export function plain(markdown) {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]|\\(?=[<>])/g, "");
}

/** A page as its readers see it: without front matter and comments. */
export function withoutComments(text) {
  return text
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .replaceAll(/<!--[\s\S]*?-->\n*/g, "")
    .trim();
}

/** Changes the targets of links and pictures, but for those in code. */
export function mapLinks(text, change) {
  const codeOrLink = /^ *(`{3,}).*\n[^]*?^ *\1$|`[^`\n]*`|(?<=\]\()[^)\s]+(?=\))/gm;
  return text.replaceAll(codeOrLink, (found) => (/^ *`/.test(found) ? found : change(found)));
}
