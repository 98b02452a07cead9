import assert from "node:assert/strict";
import axe from "axe-core";
import type { Locator, Page } from "playwright-core";

export const phone = { width: 390, height: 844 };

/** Says something. Gives the answer as soon as it is there, and the id of the process that made it. */
export async function say(page: Page, text: string): Promise<{ text: string; pid: number }> {
  await begin(page, text);
  return await lastAnswer(page);
}

/** Says something, and waits until the answer has begun. */
export async function begin(page: Page, text: string): Promise<void> {
  const answers = page.locator("li.assistant");
  await sendButton(page).waitFor();
  const count = await answers.count();
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
  await answers.nth(count).waitFor();
}

/** The last answer, as soon as none is under way. */
export async function lastAnswer(page: Page): Promise<{ text: string; pid: number }> {
  await sendButton(page).waitFor();
  const last = page.locator("li.assistant").last();
  const process = await last.locator(".process").textContent();
  return {
    text: (await last.locator(".text").allTextContents()).at(-1) ?? "",
    pid: Number(process?.replace("answered by process ", "")),
  };
}

/** What the agent said last, as far as it has come. */
export function lastText(page: Page): Locator {
  return page.locator("li.assistant").last().locator(".text").last();
}

/** Waits until the last answer says something. An agent that goes on by itself may begin at any moment. */
export async function waitForAnswer(page: Page, text: string): Promise<void> {
  await lastText(page).getByText(text, { exact: true }).waitFor();
  await sendButton(page).waitFor();
}

/** In its place is another one as long as an answer is being made. */
function sendButton(page: Page): Locator {
  return page.getByRole("button", { name: "Send" });
}

/** Signs in, after a reload, where the chat asks for it. The chat goes on by itself then. */
export async function signIn(page: Page, switchProcess: () => void): Promise<void> {
  const chat = page.url();
  await page.reload();
  await page.getByRole("link", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Name").fill("Ada");
  await checkPage(page, "the page of the authorization server");
  switchProcess();
  await page.getByRole("button", { name: "Sign in and allow" }).click();
  await waitForAnswer(page, "Ada has 120 points, enough for a free tea.");
  assert.equal(page.url(), chat);
  await page.getByText("account: signed in").waitFor();
}

/** Fails if the page is wider than its window, or axe finds something, in either colour scheme. */
export async function checkPage(page: Page, name: string): Promise<void> {
  const width = page.viewportSize()?.width ?? 0;
  const needed = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(needed <= width, `${name} is ${needed} px wide in a window of ${width} px`);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async () => {
      const found = await (globalThis as unknown as { axe: typeof axe }).axe.run();
      return found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
    });
    assert.deepEqual(violations, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}
