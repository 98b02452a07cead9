import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import type { ChatProcess } from "./chat-process.ts";
import type { Fault, FaultyFront } from "./faulty-front.ts";
import type { TeaHouse } from "./tea-house.ts";

/** A page on its way through a trouble. */
export interface Driven {
  readonly page: Page;
  readonly front: FaultyFront;
  readonly chat: ChatProcess;
  readonly tea: TeaHouse;
  /** Of its chat. */
  readonly id: string;
  /** What its user says. */
  readonly said: string;
}

type Act = (driven: Driven) => Promise<void>;

/** What a page is at when a trouble begins. */
export interface Situation {
  readonly verb: "Tell" | "Brew" | "Order";
  readonly before?: Act;
  readonly during?: Act;
  readonly after?: Act;
}

const open: Act = async ({ page, front, id }) => void (await page.goto(`${front.url}/${id}`));
const isAt = async ({ page }: Driven, phase: string) =>
  await page.locator(`main[data-phase=${phase}]`).waitFor();
const focus: Act = async ({ page }) =>
  void (await page.evaluate(() => window.dispatchEvent(new Event("focus"))));

const say: Act = async ({ page, said }) => {
  await page.locator("input:enabled[name=text]").fill(said);
  await page.getByLabel("Message").press("Enter");
};

const begin: Act = async (driven) => {
  await open(driven);
  await isAt(driven, "ready");
};

const ask: Act = async (driven) => {
  await begin(driven);
  await say(driven);
  await driven.page.getByLabel("Cups").waitFor();
  await isAt(driven, "ready");
};

/** As another page of the same user does. */
async function elsewhere({ chat, id }: Driven, body: object): Promise<Response> {
  return await fetch(`http://127.0.0.1:${chat.port()}/api/chat/${id}`, {
    ...{ method: "POST", body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
  });
}

const sayElsewhere: Act = async (driven) => {
  const parts = [{ type: "text", text: driven.said }];
  const response = await elsewhere(driven, { message: { id: "said", role: "user", parts } });
  assert.equal(response.status, 200);
  void response.text().catch(() => undefined);
};

const answerElsewhere: Act = async (driven) => {
  const state = await fetch(`http://127.0.0.1:${driven.chat.port()}/api/chat/${driven.id}`);
  const { waiting } = (await state.json()) as { waiting: { id: string; round: number }[] };
  const { id: call, round } = waiting[0]!;
  const responses = { cups: { action: "accept", content: { cups: 3 } } };
  const answered = await elsewhere(driven, { answer: { call, round, responses } });
  assert.equal(answered.status, 200);
};

export const situations: Record<string, Situation> = {
  "before its first read": { verb: "Tell", during: open, after: say },
  "while nothing happens": { verb: "Tell", before: begin, during: focus, after: say },
  "as its user says something": { verb: "Tell", before: begin, during: say },
  "while it reads an answer": {
    verb: "Tell",
    async before(driven) {
      await begin(driven);
      await say(driven);
      await driven.page.getByText("word3 ").waitFor();
    },
  },
  "while a tool works": {
    verb: "Brew",
    async before(driven) {
      await begin(driven);
      await say(driven);
      while (driven.tea.count(driven.said, "begun") === 0) await sleep(20);
    },
  },
  "while it follows another page": {
    verb: "Tell",
    async before(driven) {
      await begin(driven);
      await sayElsewhere(driven);
      await focus(driven);
      await isAt(driven, "following");
    },
  },
  "while it asks": {
    verb: "Order",
    before: ask,
    during: focus,
    async after({ page }) {
      await page.getByLabel("Cups").fill("3");
      const accept = page.getByRole("button", { name: "Accept" });
      await accept.click();
      // As the form says if that fell to a process that does not answer.
      const again = page.getByText("Press again.");
      for (const end = Date.now() + 60_000; Date.now() < end && (await accept.isVisible());) {
        if (await again.isVisible()) await accept.click();
        await sleep(200);
      }
    },
  },
  "while another page answers": { verb: "Order", before: ask, during: answerElsewhere },
};

/** What happens to a page. */
export interface Trouble {
  readonly begin: Act;
  readonly end?: Act;
  readonly lastsMs: number;
  /** Whether the process is gone that answers. */
  readonly isKill?: boolean;
}

const faulty = (fault: Fault, stop: (front: FaultyFront) => void, lastsMs = 3_000): Trouble => ({
  async begin({ front }) {
    front.fault = fault;
    stop(front);
  },
  async end({ front }) {
    front.fault = undefined;
  },
  lastsMs,
});

export const troubles: Record<string, Trouble> = {
  "the browser is offline": {
    async begin(driven) {
      const context = driven.page.context();
      // A page comes from somewhere, or its first read from nowhere.
      if (driven.page.url() === "about:blank")
        await driven.page.route("**/api/**", (route) => void route.abort());
      else await context.setOffline(true);
    },
    async end({ page }) {
      await page.unroute("**/api/**");
      await page.context().setOffline(false);
    },
    lastsMs: 4_000,
  },
  "the proxy answers 502": faulty("502", ({ breakOff }) => breakOff()),
  "answers are lost": faulty("lost", ({ breakOff }) => breakOff()),
  "everything is late": faulty("late", () => undefined, 5_000),
  "the network is dead": faulty("hang", ({ freeze }) => freeze()),
  "its process is killed": {
    begin: async ({ chat }) => await chat.kill(),
    ...{ lastsMs: 0, isKill: true },
  },
  "its process is killed behind a proxy that tells nobody": {
    async begin({ front, chat }) {
      front.freeze();
      await chat.kill();
    },
    ...{ lastsMs: 0, isKill: true },
  },
  "its process is frozen behind a proxy that takes turns": {
    begin: async ({ chat }) => await chat.freeze(),
    ...{ lastsMs: 0, isKill: true },
  },
};
