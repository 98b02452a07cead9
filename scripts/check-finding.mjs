/** What somebody types, and the page that comes first. */
const answers = {
  retry: "/guides/connections#retries",
  "sign in": "/guides/sign-in#sign-in",
  PostgreSQL: "/reference/stores#postgresql",
};

/**
 * Looks for pages as a reader does, with the keyboard alone: by the search, by the sidebar, and from an address that no page has.
 *
 * @returns how many were looked for
 */
export async function checkFinding(browser, { origin, patience }, problems) {
  const context = await browser.newContext();
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  for (const [words, expected] of Object.entries(answers)) await find(words, expected);
  await waitForSearch();
  await unfold("Guides", "/guides/tools");
  await missPage("/streaming", "/guides/streaming");
  await context.close();
  return Object.keys(answers).length + 3;

  /** Until it hears the keyboard. */
  async function open(path) {
    await page.goto(origin + path);
    await page.waitForFunction(() => "__vue_app__" in document.querySelector("#app"));
  }

  async function find(words, expected) {
    await open("/");
    await openSearch(words);
    const found = await page
      .locator("#localsearch-list .result")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    if (found[0] !== expected)
      problems.push(`The search for "${words}" leads to ${found[0]}, not to ${expected}.`);
    const measured = found.findIndex((path) => /^\/(?:api|reports|decisions)\//.test(path));
    const guide = found.findLastIndex((path) => path.startsWith("/guides/"));
    if (measured !== -1 && measured < guide)
      problems.push(`The search for "${words}" has ${found[measured]} before ${found[guide]}.`);
    await choose(page.locator(`#localsearch-list .result.selected[href="${found[0]}"]`));
    await page.keyboard.press("Enter");
    await page.waitForURL(origin + found[0]);
  }

  async function openSearch(words) {
    await page.keyboard.press("/");
    await page.locator("#localsearch-input").fill(words);
    await page.locator("#localsearch-list .result").first().waitFor();
  }

  /** A page that gets its results once more forgets which one the keys chose. */
  async function choose(selected) {
    const until = Date.now() + patience;
    do {
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.waitForTimeout(100);
    } while ((await selected.count()) === 0 && Date.now() < until);
    await selected.waitFor();
  }

  /** The index comes late, then not at all. */
  async function waitForSearch() {
    const status = page.locator(".search-status");
    const index = "**/@localSearchIndexroot*";
    const held = Promise.withResolvers();
    await page.route(index, async (route) => {
      await held.promise;
      await route.continue();
    });
    await open("/");
    await page.keyboard.press("/");
    await status.filter({ hasText: "loading" }).waitFor();
    held.resolve();
    await page.locator("#localsearch-input").fill("retry");
    await page.locator("#localsearch-list .result").first().waitFor();
    if (await status.isVisible()) problems.push("The search is there, and still said to load.");
    await page.unroute(index);
    await page.route(index, (route) => route.abort());
    await open("/errors");
    await page.keyboard.press("/");
    await status.filter({ hasText: "could not be loaded" }).waitFor();
    await page.unroute(index);
  }

  async function unfold(group, path) {
    await open("/");
    const link = page.locator(`.VPSidebar a[href="${path}"]`);
    if (await link.isVisible()) problems.push(`${group} is not folded on the first page.`);
    await page.locator(".VPSidebar summary", { hasText: group }).press("Enter");
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(origin + path);
    await open(path);
    if (!(await link.isVisible())) problems.push(`${group} is folded on ${path}, which it has.`);
  }

  async function missPage(missing, meant) {
    await open(missing);
    await page.locator(`main a[href="${meant}"]`).waitFor();
  }
}
