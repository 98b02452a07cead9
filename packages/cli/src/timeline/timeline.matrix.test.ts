import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../../examples/src/programs/find-chromium.ts";
import { asLog, callLines, type Line, stepLines } from "../../test/event-lines.ts";
import { runCliJson } from "../../test/run-cli.ts";
import { drawTimeline, logOfDemo, openFile } from "../../test/timeline-demos.ts";

const executablePath = findChromium();
if (executablePath === undefined) console.warn("skipped: timeline: there is no Chromium");
const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const folder = mkdtempSync(join(tmpdir(), "timeline-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { html: string }[];
  }[];
}

describe.skipIf(executablePath === undefined)("the timeline of the demo in a browser", () => {
  const path = join(folder, "timeline.html");
  let browser: Browser;
  beforeAll(async () => {
    const log = logOfDemo("cart", folder);
    await drawTimeline(log, "--out", path);
    await drawTimeline(log, "--svg", join(folder, "timeline.svg"));
    browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] });
  });
  afterAll(async () => await browser?.close());

  test.each([
    [1_280, "light"],
    [1_280, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)("is clean for axe, and fits, %i pixels wide and %s", async (width, colorScheme) => {
    const page = await openFile(browser, path, { width, colorScheme });
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.evaluate(axe);
    const { violations } = await page.evaluate<AxeResult>("axe.run()");
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(overflow)).toBe(0);

    // The steps can be reached with the Tab key, and show what they did.
    const links = page.locator(".picture a:visible");
    expect(await links.count()).toBe(5);
    await page.keyboard.press("Tab");
    expect(await page.locator("#tip").innerText()).toMatch(/^Step 1, process \d+.*5 requests/);
    expect(await page.locator("#tip").innerText()).toContain("add_item");
    await page.keyboard.press("Escape");
    expect(await page.locator("#tip").isVisible()).toBe(false);
    await page.keyboard.press("Enter");
    expect(page.url()).toMatch(/#s[\da-f]+-step-1$/);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("tells what the demo did: a session kept over three processes, lost, and recovered", async () => {
    const page = await openFile(browser, path, { width: 1_280, colorScheme: "light" });
    const requests = await page.locator("tbody td[data-label=Requests]").allInnerTexts();
    expect(requests).toEqual(["5", "1", "1", "6", "3"]);
    const labels = await page.locator(".wide text.lane").allTextContents();
    expect(labels).toEqual(["cart: MCP session 1, lost", "cart: MCP session 2"]);
    expect(new Set(await page.locator("td[data-label=Process]").allInnerTexts()).size).toBe(5);
    // On paper the table is one, whatever the width of the window was.
    await page.emulateMedia({ media: "print" });
    const display = "getComputedStyle(document.querySelector('tbody td')).display";
    expect(await page.evaluate(display)).toBe("table-cell");
    await page.close();
  });

  test("is as a picture a file that a browser takes for XML", async () => {
    const page = await browser.newPage();
    await page.goto(`file://${join(folder, "timeline.svg")}`);
    expect(await page.evaluate("document.documentElement.tagName")).toBe("svg");
    expect(await page.locator("text.title").allTextContents()).toEqual(
      [1, 2, 3, 4, 5].map((number) => `Step ${number}`),
    );
    await page.close();
  });
});

test("lines of processes that write at the same time stay whole", async () => {
  const log = join(folder, "shared.jsonl");
  const program = fileURLToPath(new URL("../../test/log-program.ts", import.meta.url));
  const execArgv = ["--conditions=@durable-mcp/source"];
  // The first has so many that it is still writing when it is killed.
  const counts = ["1000000", "2000", "2000", "2000"];
  const children = counts.map((count) => fork(program, [log, count], { execArgv }));
  const exits = children.map(async (child) => (await once(child, "exit"))[0] as number | null);
  await once(children[0]!, "message");
  children[0]!.kill("SIGKILL");
  const codes = (await Promise.all(exits)).slice(1);
  expect(codes).toEqual([0, 0, 0]);
  const lines = readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const processes = Map.groupBy(lines, (line) => (JSON.parse(line) as { process: string }).process);
  expect(
    [...processes.values()].map(({ length }) => length).filter((n) => n === 2_000),
  ).toHaveLength(3);
});

test("a log of 100,000 events is drawn, and what is left out is said", async () => {
  const lines: Line[] = [];
  for (let step = 0; lines.length < 100_000; step += 1) {
    const session = `session${step % 40}`;
    const [from, name] = [step * 1_000, `${step}`];
    const calls = [1, 2, 3].flatMap((number) => callLines(from + number * 100, 50, number));
    lines.push(
      ...stepLines({ step: name, session }, [from, "resumed"], ...calls, [
        from + 500,
        "step-ended",
        { requests: 3, durationMs: 500 },
      ]),
    );
  }
  const log = join(folder, "long.jsonl");
  const page = join(folder, "long.html");
  writeFileSync(log, asLog(lines));
  const { json } = await runCliJson("timeline", log, "--out", page);
  expect(json.sessions).toHaveLength(20);
  expect(json.sessions.map(({ steps }: { steps: unknown[] }) => steps.length)).toEqual(
    Array.from({ length: 20 }, () => 300),
  );
  expect(json.notes).toHaveLength(21);
  expect(json.notes[0]).toContain("40 agent sessions");
  expect(json.notes[1]).toContain("the last 300 of 31");
});
