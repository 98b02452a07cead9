import { chromium, type Page } from "playwright-core";

/** A user with a Chromium of their own. */
export interface Browser {
  /**
   * Opens the application, and follows its first link or button from page to page: gives a name where one is asked
   * for, and allows what is asked.
   *
   * @returns what was clicked, and what the last page says
   */
  signIn: (appUrl: string) => Promise<{ clicks: string[]; said: string }>;
  close: () => Promise<void>;
}

/** @param folder for the files that Chromium does not remove when it is killed */
export async function startBrowser(executablePath: string, folder: string): Promise<Browser> {
  const env = { ...process.env, TMPDIR: folder };
  const browser = await chromium.launch({ executablePath, env, args: ["--no-sandbox"] });
  return {
    async signIn(appUrl) {
      const page = await (await browser.newContext()).newPage();
      await page.goto(appUrl);
      const clicks: string[] = [];
      const next = page.locator("button, a").first();
      while ((await next.count()) > 0) {
        if (clicks.length === 10) throw new Error("The sign-in does not come to its end.");
        clicks.push(await next.innerText());
        await logIn(page);
        await Promise.all([page.waitForEvent("load"), next.click()]);
      }
      return { clicks, said: await page.locator("p").innerText() };
    },
    close: () => browser.close(),
  };
}

async function logIn(page: Page): Promise<void> {
  const name = page.locator("input[name=name]");
  if ((await name.count()) > 0) await name.fill("ada");
}
