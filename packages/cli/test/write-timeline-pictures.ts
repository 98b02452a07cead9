/**
 * `npm run lab -- pictures`: the pictures of the README and of the guide, in a real Chromium. It runs the demos; or it
 * takes the logs that they have written before: `-- <log of demo> <log of demo:person>`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "../../examples/src/programs/find-chromium.ts";
import { drawTimeline, logOfDemo, openFile } from "./timeline-demos.ts";

const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "timeline-pictures-"));
const executablePath = findChromium();
if (executablePath === undefined) throw new Error("There is no Chromium. Set CHROMIUM_PATH.");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const [cart = logOfDemo("cart", folder), person = logOfDemo("person", folder)] =
    process.argv.slice(2);
  await drawTimeline(cart, "--svg", join(docs, "one-timeline.svg"));
  await shoot(cart, "timeline-desktop.png", { width: 1_120, colorScheme: "light" });
  await shoot(cart, "timeline-phone.png", { width: 390, colorScheme: "light" });
  await shoot(person, "timeline-dark.png", { width: 1_120, colorScheme: "dark" });
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}

async function shoot(log: string, name: string, screen: Parameters<typeof openFile>[2]) {
  const path = join(folder, "timeline.html");
  await drawTimeline(log, "--out", path);
  const page = await openFile(browser, path, screen);
  // On a phone the table is long: the first screens are enough.
  const isPhone = screen.width < 500;
  const steps = page.locator(".picture.wide a");
  // The details of the step that recovers.
  if (name === "timeline-desktop.png") await steps.nth(3).focus();
  await page.screenshot({
    path: join(docs, name),
    ...(isPhone ? { clip: { x: 0, y: 0, width: 390, height: 1_400 } } : {}),
    fullPage: true,
  });
  await page.close();
}
