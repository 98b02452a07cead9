import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page, Request } from "playwright-core";
import { begin, checkPage, lastAnswer, phone, say, signIn, waitForAnswer } from "./chat-page.ts";

const ordered = (item: string) => `Ordered ${item}. It comes at 12:00, wrapped as a gift.`;

interface Drive {
  readonly seen: (what: string) => void;
  /** Kills all processes, and starts others with these settings. */
  readonly restart: (settings?: Record<string, string>) => Promise<void>;
}

/** A sub-agent asks and wants a sign-in, and the user writes while calls wait. */
export async function driveWaiting(page: Page, { seen, restart }: Drive): Promise<void> {
  await page.getByRole("link", { name: "New chat" }).click();
  await answerInOtherTab(page);
  seen("a question was answered in another tab, and both showed the answer");
  await payAtUrl(page);
  seen("a page of a server was named, and opened by a click alone");
  await page.getByRole("link", { name: "New chat" }).click();
  await askInSubAgent(page);
  seen("a sub-agent asked, and the chat went on with its answer");
  await say(page, "Helper, my points");
  await page.getByRole("heading", { name: "account wants you to sign in" }).waitFor();
  await signIn(page, () => undefined);
  seen("a sub-agent's call waited for a sign-in, and the chat went on with its answer");
  await followTask(page);
  seen("the page looked at a task of a server, and the chat went on with its result");
  await goOnWhileWaiting(page);
  seen("the user went on while calls waited, and was told of their results");
  await restart({ WHILE_WAITING: "hold" });
  await holdWhileWaiting(page);
  await restart();
  seen("a chat was held while a call waited, and said so");
}

/**
 * A tab finds the question when it gets the focus, and the other one the answer after an interval. Both want to go on
 * then: one does, and neither shows an error.
 */
async function answerInOtherTab(page: Page): Promise<void> {
  const other = await page.context().newPage();
  other.setDefaultTimeout(120_000);
  await other.goto(page.url());
  const alerts: string[] = [];
  for (const tab of [page, other]) {
    await emulateFocus(tab, false);
    await tab.exposeFunction("tellAlert", (text: string) => void alerts.push(text));
    await tab.evaluate(watchAlerts);
  }
  await page.bringToFront();
  await say(page, "Order jam");
  await page.getByText("Order jam for 4.80 €?").waitFor();
  assert.equal(await other.getByText("Order jam").count(), 0);
  await other.bringToFront();
  await answer(other, "jam");
  await waitForAnswer(other, ordered("jam"));
  await waitForAnswer(page, ordered("jam"));
  assert.deepEqual(await said(page), await said(other));
  await other.close();
  await emulateFocus(page, true);
  assert.deepEqual(alerts, []);
}

/** Without it, the tab in front alone has the focus, as for a person. */
async function emulateFocus(page: Page, enabled: boolean): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setFocusEmulationEnabled", { enabled });
}

/** In the page. */
function watchAlerts(): void {
  const { tellAlert } = globalThis as unknown as { tellAlert: (text: string) => void };
  const tell = () => {
    for (const { textContent } of document.querySelectorAll("[role=alert]")) tellAlert(textContent);
  };
  new MutationObserver(tell).observe(document.body, { childList: true, subtree: true });
}

/** A server's address is shown with its host, and nothing is asked of it before the click. */
async function payAtUrl(page: Page): Promise<void> {
  const visits: string[] = [];
  page.context().on("request", (request) => {
    if (request.url().includes("/pay?")) visits.push(request.url());
  });
  await say(page, "Pay tea");
  await page.getByText("Pay 4.80 € for tea?").waitFor();
  const desktop = page.viewportSize()!;
  await page.setViewportSize(phone);
  await checkPage(page, "the question with a URL, on a phone");
  await page.setViewportSize(desktop);
  const link = page.getByRole("link", { name: "Open the page at" });
  const url = new URL((await link.getAttribute("href"))!);
  assert.equal(await link.locator("strong").textContent(), url.host);
  assert.deepEqual(visits, []);
  const [opened] = await Promise.all([page.waitForEvent("popup"), link.click()]);
  await opened.getByText("play money").waitFor();
  await opened.close();
  assert.equal(visits.length, 1);
  await page.getByRole("button", { name: "Accept" }).click();
  await waitForAnswer(page, "tea is paid.");
}

/** A question in a sub-agent is shown and answered as any other one, and the chat goes on by itself. */
async function askInSubAgent(page: Page): Promise<void> {
  const sends = countSends(page);
  await say(page, "Helper, order tea");
  await page.getByText("helper waits").waitFor();
  await answer(page, "tea");
  await waitForAnswer(page, ordered("tea"));
  await page.getByText("helper done").waitFor();
  await seeOnce(page, ["You said: Helper, order tea", `The answer: ${ordered("tea")}`]);
  // Of the user's, and the one that goes on.
  assert.equal(await sends(), 2);
}

/** A task is shown as its server describes it, and the chat goes on by itself when it is over. */
async function followTask(page: Page): Promise<void> {
  const before = await said(page);
  await begin(page, "Track tea");
  await page.getByText("track: tea is on its way …").waitFor();
  await waitForAnswer(page, "tea is there.");
  await seeOnce(page, [...before, "You said: Track tea", "The answer: tea is there."]);
}

/** The model answers while a call waits, and says its result when it is there. */
async function goOnWhileWaiting(page: Page): Promise<void> {
  const sends = countSends(page);
  for (const [item, request] of [
    ["milk", "Order milk"],
    ["bread", "Helper, order bread"],
  ] as const) {
    const before = await said(page);
    await say(page, request);
    assert.equal((await say(page, "Never mind, what is 2 + 2?")).text, "2 + 2 is 4.");
    await page.getByText(`Order ${item} for 4.80 €?`).waitFor();
    await answer(page, item);
    await waitForAnswer(page, ordered(item));
    await seeOnce(page, [
      ...before,
      ...[`You said: ${request}`, "The answer:", "You said: Never mind, what is 2 + 2?"],
      `The answer: 2 + 2 is 4. ${ordered(item)}`,
    ]);
  }
  assert.equal(await sends(), 6);
}

/** A chat that is told to hold says so, and goes on when the call is done. */
async function holdWhileWaiting(page: Page): Promise<void> {
  const sends = countSends(page);
  await say(page, "Order honey");
  const { text } = await say(page, "Never mind, what is 2 + 2?");
  assert.match(text, /goes on when the call of delivery__order is done, which still waits/);
  await answer(page, "honey");
  await waitForAnswer(page, ordered("honey"));
  await lastAnswer(page);
  assert.equal(await sends(), 3);
}

async function answer(page: Page, item: string): Promise<void> {
  await page.getByText(`Order ${item} for 4.80 €?`).waitFor();
  await page.getByLabel("Time").selectOption({ label: "Noon" });
  await page.getByLabel("Wrap it as a gift").check();
  await page.getByRole("button", { name: "Accept" }).click();
}

/** What the page shows, a text for each message, without its calls and processes. */
async function said(page: Page): Promise<string[]> {
  const messages = await page.locator("ol.messages > li").all();
  return await Promise.all(
    messages.map(async (message) =>
      (await message.locator("> .hidden, > .text").allInnerTexts())
        .map((text) => text.trim())
        .join(" "),
    ),
  );
}

/** The messages are those, and the same that the server has. */
async function seeOnce(page: Page, expected: readonly string[]): Promise<void> {
  assert.deepEqual(await said(page), expected);
  await page.reload();
  await lastAnswer(page);
  assert.deepEqual(await said(page), expected);
}

/** How often the page asks for an answer from now on, also after a while in which nothing happens. */
function countSends(page: Page): () => Promise<number> {
  let count = 0;
  const onRequest = (request: Request) => {
    if (request.method() !== "POST" || !request.url().includes("/api/chat/")) return;
    // A person's answer goes to the same URL.
    if (!("answer" in (request.postDataJSON() as object))) count += 1;
  };
  page.on("request", onRequest);
  return async () => {
    await sleep(3_000);
    page.off("request", onRequest);
    return count;
  };
}
