// Looks at the built docs in a real Chromium, as `npm run docs:build` has written them:
//
//     node scripts/check-site.mjs [--all] [--screenshots <folder>]
//
// - Links and anchors within the site lead somewhere, in the HTML of every page.
// - llms.txt lists the pages of the sidebar, and llms-full.txt has their texts in that order, but for the API.
// - No page has to be scrolled sideways on a phone, 390 px wide.
// - A reader finds pages: by the search, which says that it loads, by the sidebar, and from an address that no page has.
// - axe finds nothing on a page of each kind, or on all of them, in light and dark.
//
// It needs a Chromium on PATH, or CHROMIUM_PATH.
import { existsSync, globSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { sidebar } from "../docs/.vitepress/sidebar.ts";
import { findChromium } from "../packages/examples/src/programs/find-chromium.ts";
import { checkFinding } from "./check-finding.mjs";
import { plain, readMarkdown } from "./read-markdown.mjs";

const site = fileURLToPath(new URL("../docs/.vitepress/dist/", import.meta.url));
const { all, screenshots } = parseArgs({
  options: { all: { type: "boolean" }, screenshots: { type: "string" } },
}).values;

/** A page of each kind, by what it is written with. In dark the colours alone are others. */
const kinds = {
  light: {
    home: "/",
    "getting-started": "/getting-started",
    guide: "/guides/streaming",
    troubleshooting: "/troubleshooting",
    reference: "/reference/events",
    api: "/api/stores/sqlite",
    missing: "/404",
    errors: "/errors",
    results: "/results",
    report: "/reports/reliability",
    decision: "/decisions/2026-11-21-request-ids",
  },
  dark: {
    home: "/",
    "getting-started": "/getting-started",
    guide: "/guides/streaming",
    reference: "/reference/events",
    api: "/api/stores/sqlite",
  },
};

const problems = [];
const read = (file) => readFileSync(join(site, file), "utf8");
const pages = new Map(
  globSync("**/*.html", { cwd: site }).map((file) => [
    `/${file.replaceAll("\\", "/").replace(/(^|\/)index\.html$|\.html$/, "$1")}`,
    read(file),
  ]),
);
if (pages.size === 0) {
  console.error("There are no built docs: npm run docs:build comes first.");
  process.exit(1);
}
const executablePath = findChromium();
if (executablePath === undefined) {
  console.error("There is no Chromium on PATH, and CHROMIUM_PATH names none.");
  process.exit(1);
}

const counts = { pages: pages.size, links: checkLinks(), "pages for models": checkLlms() };
const { close, origin } = await serve();
// For a machine that is busy with other work as well.
const patience = 180_000;
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox"],
  timeout: patience,
});
try {
  counts["pages at 390 px"] = await checkWidths();
  counts.searches = await checkFinding(browser, { origin, patience }, problems);
  counts["runs of axe"] = await checkAccess();
} finally {
  await browser.close();
  close();
}
for (const text of problems) console.error(text);
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", "),
);
console.log(problems.length === 0 ? "The site is in order." : `${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function checkLinks() {
  const ids = new Map(
    [...pages].map(([path, html]) => [
      path,
      new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  let count = 0;
  for (const [path, html] of pages) {
    for (const [, target] of html.matchAll(/<(?:a|img)\b[^>]*? (?:href|src)="([^"]+)"/g)) {
      if (/^(?:[a-z]+:|\/\/)/.test(target)) continue;
      count += 1;
      const { pathname, hash } = new URL(target.replaceAll("&amp;", "&"), `http://site${path}`);
      const found = ids.get(decodeURI(pathname));
      const anchor = decodeURIComponent(hash.slice(1));
      if (found === undefined && !existsSync(join(site, decodeURI(pathname)))) {
        problems.push(`${path} links to ${target}, which is not there.`);
      } else if (found !== undefined && anchor !== "" && !found.has(anchor)) {
        problems.push(`${path} links to ${target}, which has no such heading.`);
      }
    }
  }
  return count;
}

function checkLlms() {
  const links = sidebar.flatMap((group) =>
    [group, ...group.items].flatMap(({ link }) => link ?? []),
  );
  const files = links.map((link) => `${link.slice(1).replace(/(^|\/)$/, "$1index")}.md`);
  const list = read("llms.txt");
  for (const file of files) {
    if (!list.includes(`](/${file})`)) problems.push(`llms.txt does not list ${file}.`);
  }
  const full = read("llms-full.txt");
  const text = plain(full);
  let end = 0;
  for (const file of ["index.md", ...files].filter((each) => !each.startsWith("api/"))) {
    const own = plain(read(file));
    const start = text.indexOf(own, end);
    if (start < 0) problems.push(`llms-full.txt does not have ${file} in its place.`);
    else end = start + own.length;
  }
  for (const { target } of readMarkdown(full).links) {
    const [path] = target.split("#");
    if (/^[a-z]+:/.test(target) || path === "" || existsSync(join(site, path))) continue;
    problems.push(`llms-full.txt links to ${target}, which is not there.`);
  }
  return files.length;
}

/** The site on a port of this computer, with addresses without an ending, as its host serves it. */
async function serve() {
  const types = { ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://site");
    const html = pages.get(pathname);
    const file = join(site, posix.normalize(pathname));
    if (html !== undefined) {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(request.headers["x-still"] === undefined ? html : withoutFrame(html));
    } else if (existsSync(file) && extname(file) !== "") {
      response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
      response.end(readFileSync(file));
    } else
      response.writeHead(404, { "content-type": "text/html; charset=utf-8" }).end(read("404.html"));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { close: () => server.close(), origin: `http://127.0.0.1:${server.address().port}` };
}

/** A page without what it preloads for its scripts, and without the sidebar, which a phone does not show. */
function withoutFrame(html) {
  return html
    .replaceAll(/<link rel="(?:modulepreload|preload)"[^>]*>/g, "")
    .replace(/<aside class="VPSidebar"[^]*?<\/aside>/, "");
}

/** Without scripts: they change no width, and take most of the time of a page. */
async function checkWidths() {
  const page = await browser.newPage({
    viewport: { width: 390, height: 844 },
    javaScriptEnabled: false,
    extraHTTPHeaders: { "x-still": "1" },
  });
  page.setDefaultTimeout(patience);
  for (const path of pages.keys()) {
    await page.goto(origin + path, { waitUntil: "load" });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) problems.push(`${path} is ${width} px wide on a phone of 390 px.`);
  }
  await page.close();
  return pages.size;
}

/** In the page. What frames the pages is looked at on the first one. */
async function runAxe({ path, colorScheme }) {
  return await globalThis.axe.run(path === "/" ? document : ".VPContent", {
    resultTypes: ["violations"],
    ...(colorScheme === "dark" && { runOnly: ["color-contrast"] }),
  });
}

async function checkAccess() {
  const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
  if (screenshots !== undefined) mkdirSync(screenshots, { recursive: true });
  let count = 0;
  for (const [colorScheme, some] of Object.entries(kinds)) {
    const looked = all
      ? [...pages.keys()].map((path) => [path.replaceAll("/", "-"), path])
      : Object.entries(some);
    const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    for (const [kind, path] of looked) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(origin + path, { waitUntil: "load" });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(runAxe, { path, colorScheme });
      for (const { id, help, nodes } of violations) {
        const [{ target }] = nodes;
        problems.push(`${path} (${colorScheme}): ${help} (${id}, ${nodes.length}×, ${target})`);
      }
      count += 1;
      if (screenshots === undefined) continue;
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
        const file = join(screenshots, `${kind}-${colorScheme}-${width}.png`);
        await page.screenshot({ path: file });
      }
    }
    await context.close();
  }
  return count;
}
