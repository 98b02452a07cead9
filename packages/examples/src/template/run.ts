/**
 * `npm run lab -- template`: installs `examples/next-chat` of the last commit into an empty folder, with the packages of this
 * workspace as they would be published, builds it, and drives it in a real Chromium over two processes that are killed
 * on the way. The pictures go to `reports/next-chat`; `-- --pictures docs/next-chat` puts them elsewhere.
 * `-- --start` installs it, runs `npm run dev`, and says one thing in it, without a browser.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { needChromium } from "../programs/find-chromium.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { startPlaywrightServer } from "../servers/playwright-server.ts";
import { driveChat } from "./drive-chat.ts";
import { firstAnswer } from "./first-answer.ts";
import { buildTemplate, installTemplate } from "./install-template.ts";
import { chooseSettings, startDevelopment, startTemplate } from "./template-processes.ts";

const { pictures, start: isStartOnly } = parseArgs({
  options: {
    pictures: { type: "string", default: "reports/next-chat" },
    start: { type: "boolean", default: false },
  },
}).values;
const executablePath = isStartOnly ? "" : needChromium();
const start = performance.now();
const say = (text: string) =>
  console.log(`${String(Math.round((performance.now() - start) / 1000)).padStart(4)} s  ${text}`);

const folder = createTemporaryFolder();
const installed = join(folder, "next-chat");
installTemplate(installed, join(folder, "packages"), say);
if (isStartOnly) {
  await chooseSettings(installed, "http://localhost:3000");
  say("npm run dev");
  say(await firstAnswer(await startDevelopment(installed), "Add honey"));
  process.exit();
}
buildTemplate(installed, say);
say("starting two processes");
const processes = await startTemplate(installed);
const playwright = await startPlaywrightServer(folder, executablePath);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
mkdirSync(resolve(pictures), { recursive: true });
try {
  await driveChat({
    ...{ processes, browser, browserUrl: playwright.url },
    ...{ pictures: resolve(pictures), seen: say },
  });
} catch (error) {
  for (const [index, page] of browser
    .contexts()
    .flatMap((each) => each.pages())
    .entries()) {
    await page.screenshot({ path: join(resolve(pictures), `failed-${index}.png`), fullPage: true });
  }
  throw error;
} finally {
  await browser.close();
}
say("everything was as it should be");
process.exit();
