import { type Browser, chromium, type Page } from "playwright-core";
import { isCallback, type User, type UserOptions } from "./user.ts";

/** A user with a Chromium of their own, whose cookies last as long as it is open. */
export interface BrowserUser extends User {
  /**
   * Opens a URL, signs in and consents wherever the authorization server asks, and goes on through the callback.
   *
   * @returns where this ends: the page's URL and its text
   */
  visit: (url: string | URL) => Promise<{ url: URL; text: string }>;
  close: () => Promise<void>;
}

/** @param executablePath a Chromium, as `findChromium` finds it */
export async function startBrowserUser(
  executablePath: string,
  { login = "ada", cancels = false }: UserOptions = {},
): Promise<BrowserUser> {
  const browser: Browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext();

  /** Answers the authorization server's pages until one comes that is not such a page. */
  async function answerPages(page: Page): Promise<void> {
    while ((await page.locator("form input[name=prompt]").count()) > 0) {
      const at = page.url();
      if (cancels) await page.getByRole("link", { name: "Cancel" }).click();
      else {
        const field = page.locator("input[name=login]");
        if ((await field.count()) > 0) {
          await field.fill(login);
          await page.locator("input[name=password]").fill("any");
        }
        await page.locator("button[type=submit]").click();
      }
      await page.waitForURL((url) => url.href !== at);
    }
  }

  return {
    visit: async (url) => {
      const page = await context.newPage();
      try {
        await page.goto(String(url));
        await answerPages(page);
        return { url: new URL(page.url()), text: await page.locator("body").innerText() };
      } finally {
        await page.close();
      }
    },
    signIn: async (url, callbackUrl) => {
      const page = await context.newPage();
      try {
        await stopAt(page, callbackUrl);
        await page.goto(String(url));
        await answerPages(page);
        const end = new URL(page.url());
        if (!isCallback(end, callbackUrl)) throw new Error(`The sign-in ended at ${end.pathname}.`);
        return end;
      } finally {
        await page.close();
      }
    },
    close: () => browser.close(),
  };
}

/** Answers a page's requests to the callback here. Playwright's own routes do not see redirects. */
async function stopAt(page: Page, callbackUrl: string | URL): Promise<void> {
  const { origin, pathname } = new URL(callbackUrl);
  const devTools = await page.context().newCDPSession(page);
  devTools.on("Fetch.requestPaused", ({ requestId }) => {
    const body = Buffer.from("Signed in.").toString("base64");
    devTools
      .send("Fetch.fulfillRequest", { requestId, responseCode: 200, body })
      .catch(() => undefined);
  });
  const patterns = ["", "?*"].map((rest) => ({ urlPattern: `${origin}${pathname}${rest}` }));
  await devTools.send("Fetch.enable", { patterns });
}
