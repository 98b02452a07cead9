import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import type { ChatProcess } from "./chat-process.ts";
import { startFaultyFront } from "./faulty-front.ts";
import { type Driven, type Situation, situations, troubles } from "./situations.ts";
import type { TeaHouse } from "./tea-house.ts";

export interface Drive {
  readonly browser: Browser;
  readonly chat: ChatProcess;
  readonly tea: TeaHouse;
  readonly fileOf: (path: string) => string;
}

const timeout = 90_000;

/** Brings a page into a situation and into trouble. Fails unless it ends by itself in the right page. */
export async function drivePage(
  { browser, chat, tea, fileOf }: Drive,
  [situation, trouble]: readonly [situation: string, trouble: string],
  number: number,
): Promise<void> {
  const [{ verb, ...acts }, { begin, end, lastsMs, isKill }] = [
    situations[situation]!,
    troubles[trouble]!,
  ];
  const front = await startFaultyFront(chat.nextPort, fileOf);
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(timeout);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  const driven: Driven = {
    ...{ page, front, chat, tea, id: `chat-${number}`, said: `${verb} ${number}` },
  };
  try {
    await acts.before?.(driven);
    await begin(driven);
    await acts.during?.(driven);
    await sleep(lastsMs);
    await end?.(driven);
    await acts.after?.(driven);
    await endsWell(driven, verb, isKill ?? false);
    assert.deepEqual(problems, []);
  } catch (error) {
    const shown = await page
      .locator("main")
      .evaluate((main) => main.outerHTML, null, { timeout: 1_000 })
      .catch(() => "");
    throw new Error(`${(error as Error).message}\n${shown}`, { cause: error });
  } finally {
    await context.close();
    front.close();
    await chat.endFrozen();
  }
}

const lastWords: Record<Situation["verb"], RegExp> = {
  Tell: /word29$/,
  Brew: /It is brewed\.$/,
  Order: /^3 cups are ordered\.$/,
};

async function endsWell({ page, tea, said }: Driven, verb: Situation["verb"], isKill: boolean) {
  // A call that a killed process had begun is told to the model, and not made again.
  const words = isKill && verb === "Brew" ? /./ : lastWords[verb];
  const seen = async () => {
    const answer = page.locator("main[data-phase=ready] li.assistant").last();
    await answer.filter({ hasText: words }).waitFor();
    await page.locator("input:enabled[name=text]").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    return await page.locator("li").allTextContents();
  };
  const shown = await seen();
  assert.equal(shown.filter((text) => text === said).length, 1);
  await page.reload();
  assert.deepEqual(await seen(), shown);
  assert.ok(tea.count(said, "begun") <= 1, "A tool was called twice.");
  const asked = tea.count(said, "asked");
  if (isKill) assert.ok(asked <= 4, `The model was asked ${asked} times.`);
  else assert.equal(asked, verb === "Tell" ? 1 : 2);
}
