import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { serveOrderPage } from "../servers/order-page.ts";
import {
  begin,
  checkPage,
  lastAnswer,
  lastText,
  phone,
  say,
  signIn,
  waitForAnswer,
} from "./chat-page.ts";
import { driveWaiting } from "./drive-waiting.ts";
import type { ChatProcess, TemplateProcesses } from "./template-processes.ts";

interface Drive {
  readonly processes: TemplateProcesses;
  readonly browser: Browser;
  /** Of a server of `@playwright/mcp`. */
  readonly browserUrl: string;
  /** Where the pictures go. */
  readonly pictures: string;
  /** Is told what has been seen. */
  readonly seen: (what: string) => void;
}

const desktop = { width: 900, height: 1180 };

/** A person's way through the chat, over two processes that are killed. Fails at the first thing that is not as it should be. */
export async function driveChat({ processes, browser, ...drive }: Drive): Promise<void> {
  const { chats, sendTo, url } = processes;
  const { browserUrl, pictures, seen } = drive;
  const picture = async (page: Page, name: string) => {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.screenshot({ path: join(pictures, `${name}.png`) });
  };
  const page = await openPage(browser);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !isOfKilledProcess(message.text())) {
      problems.push(`${message.text()} ${message.location().url}`);
    }
  });

  await page.goto(url);
  await page.getByText("No language model is set.").waitFor();
  await checkPage(page, "the empty chat");

  await oneSession(page, processes);
  seen("two processes answered in one MCP session");

  await say(page, "Order tea");
  await page.getByText("Order tea for 4.80 €?").waitFor();
  await checkPage(page, "the question");
  await page.setViewportSize(phone);
  await checkPage(page, "the question on a phone");
  await page.setViewportSize(desktop);
  await picture(page, "question");
  await restart(chats);
  sendTo(chats[1]);
  await answerAfterRestart(page);
  seen("a question outlived both processes, and another one sent the answer");

  sendTo(chats[0]);
  await say(page, "My points");
  await page.getByRole("heading", { name: "account wants you to sign in" }).waitFor();
  await checkPage(page, "the sign-in");
  await page.setViewportSize(phone);
  await checkPage(page, "the sign-in on a phone");
  await picture(page, "sign-in-phone");
  await otherChatWaits(page, url);
  await signIn(page, () => sendTo(chats[1]));
  seen("a sign-in began in one process and ended in another, and its own chat went on by itself");
  await checkPage(page, "the chat on a phone");
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "phone-dark");
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(desktop);
  await endEverything(page);
  seen("the session was ended, and the user signed out");
  await seeNothing(browser, page.url());
  seen("another user sees nothing of the chat");

  await page.getByRole("link", { name: "New chat" }).click();
  await sayNo(page);
  seen("an order was declined, and another one taken back");
  await driveWaiting(page, { seen, restart: (settings) => restart(chats, settings) });
  await reloadInTheMiddle(page);
  seen("a reload in the middle of an answer lost nothing of it");
  await stopInTheMiddle(page, processes);
  seen("an answer was stopped by another process");
  await killInTheMiddle(page, processes);
  seen("a process was killed in the middle of an answer, and another one went on");
  await sameBrowser(page, { browserUrl, ...processes });
  seen("two processes used one page of a browser behind Playwright's server");
  assert.deepEqual(problems, []);

  await page.goto(await processes.startDevelopment());
  assert.equal((await say(page, "Add honey")).text, "The cart holds honey.");
  await say(page, "My points");
  await signIn(page, () => undefined);
  seen("npm run dev serves it, too, and goes on after a sign-in");
}

/** Of a new user, for it has no cookies. */
async function openPage(browser: Browser): Promise<Page> {
  const page = await (await browser.newContext({ viewport: desktop })).newPage();
  // `npm run dev` compiles a page when it is asked for.
  page.setDefaultTimeout(120_000);
  return page;
}

/** A killed process breaks its connections; as long as both are gone, the balancer answers with 502. */
function isOfKilledProcess(text: string): boolean {
  return /ERR_(INCOMPLETE_CHUNKED_ENCODING|CONNECTION|EMPTY_RESPONSE)|status of 502/.test(text);
}

async function oneSession(page: Page, { chats, sendTo }: TemplateProcesses): Promise<void> {
  const [first, second] = chats;
  assert.deepEqual(await say(page, "Add apples and tea"), {
    ...{ text: "The cart holds apples, tea.", pid: first.pid },
  });
  sendTo(second);
  assert.deepEqual(await say(page, "What is in my cart?"), {
    ...{ text: "The cart holds apples, tea.", pid: second.pid },
  });
  await page.getByText("cart: session kept").waitFor();
}

/** What takes the script some seconds to say. */
const long = Array.from({ length: 100 }, (_, index) => `word${index}`).join(" ");

async function reloadInTheMiddle(page: Page): Promise<void> {
  await begin(page, `Add ${long}`);
  await lastText(page).getByText("word3 ").waitFor();
  await page.reload();
  await page.getByText("Working …").waitFor();
  await waitForAnswer(page, `The cart holds ${long}.`);
  await page.reload();
  await waitForAnswer(page, `The cart holds ${long}.`);
}

async function stopInTheMiddle(page: Page, { chats, sendTo }: TemplateProcesses): Promise<void> {
  sendTo(chats[0]);
  await begin(page, "What is in my cart?");
  await lastText(page).getByText("word3 ").waitFor();
  sendTo(chats[1]);
  await page.getByRole("button", { name: "Stop" }).click();
  const { text } = await lastAnswer(page);
  assert.ok(!text.includes("word99"), "The answer was made to its end.");
}

/** Both at once, so that nothing is left in memory. */
async function restart(
  chats: readonly ChatProcess[],
  settings?: Record<string, string>,
): Promise<void> {
  await Promise.all(chats.map((chat) => chat.kill()));
  await Promise.all(chats.map((chat) => chat.start(settings)));
}

async function answerAfterRestart(page: Page): Promise<void> {
  await page.reload();
  // Whoever forgets to choose is told by the browser, and nothing is sent.
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByText("Order tea for 4.80 €?").waitFor();
  await page.getByLabel("Time").selectOption({ label: "Noon" });
  await page.getByLabel("Wrap it as a gift").check();
  await page.getByLabel("Note for the driver").fill("The blue door");
  await page.getByRole("button", { name: "Accept" }).click();
  const wishes = "wrapped as a gift, with your note “The blue door”";
  await waitForAnswer(page, `Ordered tea. It comes at 12:00, ${wishes}.`);
}

async function sayNo(page: Page): Promise<void> {
  await say(page, "Order milk");
  await page.getByRole("button", { name: "Decline" }).click();
  await waitForAnswer(page, "Nothing was ordered: you said no to milk.");
  await say(page, "Order bread");
  await page.getByRole("button", { name: "Take the call back" }).click();
  await lastText(page)
    .getByText(/taken the call back/)
    .waitFor();
}

/** Another chat of the same user meets the same refusal, and asks the server for its tools last. */
async function otherChatWaits(page: Page, url: string): Promise<void> {
  const other = await page.context().newPage();
  other.setDefaultTimeout(120_000);
  await other.goto(url);
  await say(other, "My points");
  await other.getByRole("heading", { name: "account wants you to sign in" }).waitFor();
  await other.close();
}

async function killInTheMiddle(page: Page, { chats, sendTo }: TemplateProcesses): Promise<void> {
  const [other, answering] = chats;
  await begin(page, "What is in my cart?");
  await lastText(page).getByText("word3 ").waitFor();
  sendTo(other);
  await answering.kill();
  // The page goes on by itself, when the process counts as gone.
  await waitForAnswer(page, `The cart holds ${long}.`);
  assert.equal((await lastAnswer(page)).pid, other.pid);
  await answering.start();
}

async function sameBrowser(page: Page, use: TemplateProcesses & { browserUrl: string }) {
  const [first, second] = use.chats;
  const shop = await serveOrderPage();
  await restart(use.chats, { BROWSER_URL: use.browserUrl });
  use.sendTo(first);
  await page.getByRole("link", { name: "New chat" }).click();
  await say(page, `Open ${shop.url}`);
  use.sendTo(second);
  const { text, pid } = await say(page, "What is on the page?");
  shop.close();
  assert.equal(pid, second.pid);
  assert.match(text, /Page URL: http/);
  assert.ok(text.includes(shop.url));
  assert.equal(shop.visits.loads, 1);
}

async function endEverything(page: Page): Promise<void> {
  await page.getByRole("button", { name: "End the session of cart" }).click();
  await page.getByText("cart: session kept").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Sign out of account" }).click();
  await page.getByText("account: signed in").waitFor({ state: "detached" });
  assert.equal((await say(page, "What is in my cart?")).text, "The cart is empty.");
}

/** The chat's address is no secret. */
async function seeNothing(browser: Browser, chat: string): Promise<void> {
  const page = await openPage(browser);
  await page.goto(chat);
  // A new user gets a chat of their own.
  assert.notEqual(page.url(), chat);
  await page.goto(chat);
  await page.getByRole("heading", { name: "What shall the tea shop do?" }).waitFor();
  assert.equal((await say(page, "What is in my cart?")).text, "The cart is empty.");
}
