import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../programs/find-chromium.ts";

const executablePath = findChromium();
if (executablePath === undefined) console.warn("skipped: chat: there is no Chromium");
const screenshots = fileURLToPath(new URL("../../../../reports/", import.meta.url));

describe.skipIf(executablePath === undefined)("the chat in a browser", () => {
  let demo: ChildProcess;
  let browser: Browser;
  let url: string;
  /** Of the two chat processes. */
  let pids: number[] = [];

  beforeAll(async () => {
    const program = fileURLToPath(new URL("demo.ts", import.meta.url));
    const flags = ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"];
    demo = spawn(process.execPath, [...flags, program], {
      env: { ...process.env, DURABLE_MCP_MODEL: "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface(demo.stdout!)[Symbol.asyncIterator]();
    url = String((await lines.next()).value);
    while (pids.length === 0) {
      const [, said] = /kill -9 ([\d ]+):/.exec(String((await lines.next()).value)) ?? [];
      if (said !== undefined) pids = said.split(" ").map(Number);
    }
    browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser?.close();
    const gone = demo?.exitCode === null ? once(demo, "exit") : undefined;
    demo?.kill();
    await gone;
  });

  /** Opens the page of a chat, and signs in. A context has cookies of its own. */
  async function signIn(name: string, chat: string, given?: BrowserContext) {
    const context = given ?? (await browser.newContext());
    const page = await context.newPage();
    await page.goto(`${url}#${chat}`);
    await signInAs(page, name);
    return page;
  }

  test("a question outlives both processes, and only its user can see and answer it", async () => {
    const page = await signIn("ada", "chat-5");
    await say(page, "add apples");
    await say(page, "order tea");
    await expect.poll(() => questions(page).allTextContents()).toEqual(["Order tea for 4.80 €?"]);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    // Both are up again when both have answered.
    const answering = new Set<string | null>();
    const others = async () => {
      const { ok, headers } = await fetch(url);
      if (ok) answering.add(headers.get("x-served-by"));
      return answering.size;
    };
    await expect.poll(others).toBe(2);

    const bob = await signIn("bob", "chat-5");
    expect(await questions(bob).count()).toBe(0);
    const call = await page.locator(".questions").getAttribute("data-call");
    const statuses = await bob.evaluate(
      (path) =>
        Promise.all([
          fetch(path, { method: "DELETE" }).then(({ status }) => status),
          fetch(`${path}/answer`, {
            method: "POST",
            body: '{"round":1,"responses":{"confirm":{"action":"decline"}}}',
          }).then(({ status }) => status),
        ]),
      `${url}api/chats/chat-5/waiting/${call}`,
    );
    expect(statuses).toEqual([409, 409]);

    await page.reload();
    await signInAs(page, "ada");
    await page.getByLabel("Yes, order it").check();
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByLabel("Time").selectOption({ label: "Noon" });
    await page.screenshot({ path: `${screenshots}/chat-question.png`, fullPage: true });
    await page.getByRole("button", { name: "Accept" }).click();
    await expect.poll(() => lastAnswer(page)).toBe("Your tea comes at 12:00.");
    expect(await page.locator("li .call").allTextContents()).toEqual([
      "called shop__add_item: The cart holds apples.",
      "called delivery__order: Your tea comes at 12:00.",
    ]);
    // Both kinds of servers are in one chat.
    expect((await say(page, "what is in my cart?")).answer).toBe("The cart holds apples.");
  });

  test("asks with forms and URLs at once, and shows what is wrong beside the field", async () => {
    const page = await signIn("ada", "chat-6");
    const opened: string[] = [];
    page.context().on("request", (request) => opened.push(request.url()));
    await say(page, "join");
    const link = page.getByRole("link", { name: "Open the page" });
    const termsUrl = await page.locator(".url code").textContent();
    expect(await link.getAttribute("href")).toBe(termsUrl);
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(await page.locator(".url strong").textContent()).toBe(new URL(termsUrl!).host);

    // The defaults are there.
    expect(await page.getByLabel("Cups a day").inputValue()).toBe("3");
    expect(await page.getByLabel("Strength").inputValue()).toBe("mild");
    expect(await page.getByLabel("Send me news").isChecked()).toBe(true);
    expect(await page.getByLabel("Assam").isChecked()).toBe(true);

    await page.getByLabel("Name *").fill("Ada");
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("First delivery").fill("2026-12-01T09:30");
    await page.getByLabel("Milk").selectOption({ label: "Oat milk" });
    await page.getByLabel("Darjeeling").check();
    await page.getByLabel("Sencha").check();
    await page.getByLabel("Accept").last().check();
    await page.getByRole("button", { name: "Send answers" }).click();
    await expect
      .poll(() => page.locator('[data-field="teas"] .problem').textContent())
      .toBe("must have at most 2 values. Nothing was sent, and the call still waits.");
    await page.screenshot({ path: `${screenshots}/chat-form.png`, fullPage: true });
    await page.getByLabel("Sencha").uncheck();
    await page.getByRole("button", { name: "Send answers" }).click();

    // To accept is not to be done: the server asks once more, until the person has agreed on its page.
    await expect
      .poll(() => questions(page).allTextContents())
      .toEqual([expect.stringMatching(/^You have not agreed yet/)]);
    expect(opened).not.toContain(termsUrl);
    const popup = page.context().waitForEvent("page");
    await link.click();
    const terms = await popup;
    await terms.getByRole("button", { name: "I agree" }).click();
    await terms.getByText("You have agreed").waitFor();
    await page.screenshot({ path: `${screenshots}/chat-url.png`, fullPage: true });
    await page.getByRole("button", { name: "Accept" }).click();
    await expect.poll(() => lastAnswer(page)).toBe("Ada is a member of the tea club.");
  });

  test("a server's texts stay texts, its host is not its user name, and one bad question hides no other", async () => {
    const page = await (await browser.newContext()).newPage();
    const message = "<img src=x onerror=alert()>";
    const properties: unknown = JSON.parse('{"__proto__":{"type":"boolean"}}');
    const calls = [
      waitingCall("bad", {
        message,
        requestedSchema: { type: "object", properties: { field: null } },
      }),
      waitingCall("__proto__", { message, requestedSchema: { type: "object", properties } }),
      waitingCall("url", {
        mode: "url",
        message,
        url: "https://bank.example:443@evil.example/<b>",
      }),
    ];
    await page.route("**/waiting", (route) => route.fulfill({ json: calls }));
    await page.goto(`${url}#chat-8`);
    await signInAs(page, "ada");
    await expect.poll(() => questions(page).allTextContents()).toEqual([message, message]);
    expect(await page.locator("#questions img").count()).toBe(0);
    expect(await page.locator(".url strong").textContent()).toBe("evil.example");

    const answered = page.waitForRequest("**/answer");
    await page.getByLabel("__proto__").check();
    await page.getByRole("button", { name: "Accept" }).first().click();
    expect((await answered).postData()).toContain(
      '{"__proto__":{"action":"accept","content":{"__proto__":true}}}',
    );
  });

  test("several calls wait at once, one is declined and one was answered in another tab", async () => {
    const page = await signIn("ada", "chat-7");
    await say(page, "order tea and milk");
    const [tea, milk] = [card(page, "tea"), card(page, "milk")];
    await milk.waitFor();
    const other = await signIn("ada", "chat-7", page.context());
    await card(other, "tea").getByRole("button", { name: "Decline" }).click();
    await card(other, "tea").waitFor({ state: "detached" });

    await tea.getByRole("button", { name: "Accept" }).click();
    await page.getByText("This was answered somewhere else, or is over.").waitFor();
    await tea.waitFor({ state: "detached" });
    await page.screenshot({ path: `${screenshots}/chat-answered-elsewhere.png`, fullPage: true });
    await milk.getByRole("button", { name: "Take the call back" }).click();
    await expect
      .poll(() => lastAnswer(page))
      .toMatch(/^Your tea was not ordered\. .*taken the call back/);
  });

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
    expect((await fetch(`${chat}/waiting`)).status).toBe(401);
    expect((await fetch(`${chat}/waiting/any`, { method: "DELETE" })).status).toBe(401);
    const post = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${chat}${path}`, { method: "POST", headers: { ...json, ...headers }, body: "{}" });
    expect((await fetch(`${chat}/sessions`)).status).toBe(401);
    expect((await post("")).status).toBe(401);
    expect((await post("/waiting/any/answer")).status).toBe(401);
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

async function signInAs(page: Page, name: string) {
  await page.fill("#name", name);
  await page.click("#sign-in button");
  await page.waitForSelector("#panel:not([hidden])");
}

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

/** A call as a chat process would list it. */
const waitingCall = (id: string, params: object) => ({
  ...{ id, kind: "input", state: "waiting", connection: "evil", round: 1, tool: "any" },
  requests: { [id]: { method: "elicitation/create", params } },
});

/** What is asked now. */
function questions(page: Page) {
  return page.locator(".question > p");
}

/** The questions of the call about an item. */
function card(page: Page, item: string) {
  return page.locator("form.questions", { hasText: item });
}

async function lastAnswer(page: Page) {
  return page.locator("li.assistant span").last().textContent();
}
