import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../programs/find-chromium.ts";

const executablePath = findChromium();
if (executablePath === undefined) console.warn("skipped: chat: there is no Chromium");
const screenshots = fileURLToPath(new URL("../../../../reports/", import.meta.url));

describe.skipIf(executablePath === undefined)("the chat in a browser", () => {
  let demo: ChildProcess;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    const program = fileURLToPath(new URL("demo.ts", import.meta.url));
    const flags = ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"];
    demo = spawn(process.execPath, [...flags, program], {
      env: { ...process.env, DURABLE_MCP_MODEL: "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(demo.stdout!), "line")) as [string];
    url = line;
    browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser?.close();
    const gone = demo?.exitCode === null ? once(demo, "exit") : undefined;
    demo?.kill();
    await gone;
  });

  /** Opens the page of a chat, and signs in. A context has cookies of its own. */
  async function signIn(name: string, chat: string) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}#${chat}`);
    await page.fill("#name", name);
    await page.click("#sign-in button");
    await page.waitForSelector("#panel:not([hidden])");
    return page;
  }

  test("goes on in one session over two processes, restarts it and ends it", async () => {
    const page = await signIn("ada", "chat-1");
    await page.waitForSelector("#none:not([hidden])");

    const first = await say(page, "add apples and bread");
    const second = await say(page, "add milk");
    const third = await say(page, "what is in my cart?");
    expect([first, second, third].map(({ answer }) => answer)).toEqual([
      "The cart holds apples, bread.",
      "The cart holds apples, bread, milk.",
      "The cart holds apples, bread, milk.",
    ]);
    expect([first, second, third].map((said) => said.process)).toEqual(["1", "2", "1"]);
    await expect.poll(() => state(page).allTextContents()).toEqual(["alive"]);
    expect(await page.locator('[data-name="Tools"]').textContent()).toBe("4");
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: `${screenshots}/chat.png` });

    await page.click(".session button:text-is('Restart')");
    await expect.poll(() => state(page).allTextContents()).toEqual(["lost"]);
    // The model is told that what the session held is gone.
    expect((await say(page, "what is in my cart?")).answer).toBe(
      "The cart is empty. The shop has forgotten what was in it.",
    );
    await expect.poll(() => state(page).allTextContents()).toEqual(["alive"]);
    expect((await say(page, "add tea")).answer).toBe("The cart holds tea.");

    await page.click(".session button:text-is('End')");
    await expect.poll(() => page.locator("#none").isVisible()).toBe(true);
    expect(await state(page).count()).toBe(0);
    expect((await say(page, "what is in my cart?")).answer).toBe("The cart is empty.");
    await page.screenshot({ path: `${screenshots}/chat-ended.png` });
  });

  test("shows how far a call is, in a bar", async () => {
    const page = await signIn("ada", "chat-4");
    await say(page, "add apples, bread and milk");
    const shipping = say(page, "ship it");
    const bar = page.locator("li.assistant progress:visible");
    await bar.waitFor();
    await expect.poll(() => bar.getAttribute("value")).toBe("1");
    expect(await bar.getAttribute("max")).toBe("3");
    expect(await bar.getAttribute("title")).toBe("packing bread");
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: `${screenshots}/chat-progress.png` });
    expect((await shipping).answer).toBe("Shipped apples, bread, milk.");
    expect(await bar.count()).toBe(0);
    // The page sends the history with the final result.
    expect((await say(page, "what is in my cart?")).answer).toBe("The cart is empty.");
  });

  test("shows a chat's sessions to whoever they belong to", async () => {
    const ada = await signIn("ada", "chat-2");
    await say(ada, "add apples");
    const bob = await signIn("bob", "chat-2");
    await bob.waitForSelector("#none:not([hidden])");
    expect((await say(bob, "what is in my cart?")).answer).toBe("The cart is empty.");
    await bob.click(".session button:text-is('End')");
    await expect.poll(() => bob.locator("#none").isVisible()).toBe(true);
    await ada.click("#refresh");
    await expect.poll(() => state(ada).allTextContents()).toEqual(["alive"]);
    expect((await say(ada, "what is in my cart?")).answer).toBe("The cart holds apples.");
  });

  test("answers nobody who is not signed in, or names a connection that is none", async () => {
    const chat = `${url}api/chats/chat-1`;
    const json = { "content-type": "application/json" };
    const post = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${chat}${path}`, { method: "POST", headers: { ...json, ...headers }, body: "{}" });
    expect((await fetch(`${chat}/sessions`)).status).toBe(401);
    expect((await post("")).status).toBe(401);
    expect((await post("/sessions/shop/end")).status).toBe(401);
    expect((await post("/sessions/shop/end", { cookie: "name=ada.forged" })).status).toBe(401);

    const page = await signIn("ada", "chat-3");
    const status = await page.evaluate(
      async (path) => (await fetch(path, { method: "POST" })).status,
      `${chat}/sessions/other/end`,
    );
    expect(status).toBe(400);
  });
});

/** Says something. Gives the answer, and which process gave it. */
async function say(page: Page, text: string) {
  const count = await page.locator("li.assistant").count();
  await page.fill("#text", text);
  await page.click("#ask button");
  const item = page.locator("li.assistant").nth(count);
  const served = await item.locator(".served-by").textContent();
  return {
    answer: await item.locator("span").textContent(),
    process: served!.replace("answered by process ", ""),
  };
}

/** What the panel says of the chat's sessions. */
function state(page: Page) {
  return page.locator('[data-name="State"]');
}
