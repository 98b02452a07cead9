import { expect, test } from "vitest";
import { runDemo } from "../../test/run-demo.ts";
import { findChromium } from "../programs/find-chromium.ts";

const noChromium = findChromium() === undefined;
if (noChromium) console.warn("skipped: page: there is no Chromium");

test.skipIf(noChromium)("a page in trouble ends by itself in the right page", async () => {
  const output = await runDemo(new URL("run.ts", import.meta.url), ["--share"]);
  expect(output).toMatch(/^9 pages of 9 ended as they should$/m);
});
