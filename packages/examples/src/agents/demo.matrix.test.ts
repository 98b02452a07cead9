import { expect, test } from "vitest";
import { jsonLines, startDemo, uuid } from "../../test/run-demo.ts";
import { findChromium } from "../programs/find-chromium.ts";

const demo = new URL("demo.ts", import.meta.url);
const noChromium = findChromium() === undefined;
if (noChromium) console.warn("skipped: demo:agents: there is no Chromium");

test.skipIf(noChromium)(
  "sub-agents have a browser each and share a cart, and the root agent's browser has a name, in two processes",
  async () => {
    const { stdout, stderr, exitCode } = await startDemo(demo, ["--json"]);
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    expect(stdout).not.toMatch(uuid);
    const steps = jsonLines<{ pid: number; cart: string }>(stdout);
    expect(steps).toMatchObject([
      {
        step: 1,
        root: ["The market", "The market"],
        helpers: [
          { item: "bread", shows: "The bakery" },
          { item: "milk", shows: "The dairy" },
        ],
        sessions: { browser: { made: 3, kept: 1 }, cart: { made: 1, kept: 1 } },
      },
      {
        step: 2,
        root: ["The market", "The market"],
        helpers: [
          { item: "apples", shows: "The orchard" },
          { item: "honey", shows: "The apiary" },
        ],
        sessions: { browser: { made: 3, kept: 1 }, cart: { made: 0, kept: 2 } },
      },
    ]);
    for (const item of ["bread", "milk", "apples", "honey"]) expect(steps[1]!.cart).toContain(item);
    expect(steps[0]!.pid).not.toBe(steps[1]!.pid);
  },
);
