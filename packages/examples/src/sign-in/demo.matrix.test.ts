import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";
import { findChromium } from "../programs/find-chromium.ts";
import type { Happened } from "./sign-in-run.ts";

const demo = new URL("demo.ts", import.meta.url);
const noChromium = findChromium() === undefined;
if (noChromium) console.warn("skipped: demo:sign-in: there is no Chromium");

test.skipIf(noChromium)(
  "a sign-in in a browser lets another process go on, and two processes at once refresh the token once",
  async () => {
    const lines = jsonLines<Happened & { with: string }>(await runDemo(demo, ["--json"]));
    const kept = lines.filter((line) => line.with === "durable-mcp");
    const nothing = { sessions: 0, orders: 0, registered: 0, signedIn: 0, refreshed: 0 };
    expect(kept).toMatchObject([
      // The first request of the shop, which it refuses. Nobody asks the authorization server yet.
      {
        ...{ step: 1, lines: ["sign_in() waits for the user's sign-in"], ...nothing },
        ...{ toShop: 1, toAuthorization: 0 },
      },
      // Metadata, registration, the page, the code.
      {
        ...{ step: 2, ...nothing, registered: 1, signedIn: 1, toShop: 0, toAuthorization: 4 },
        lines: ["The user clicks: Log in, Sign in to shop, Sign in, Allow", "“Signed in to shop.”"],
      },
      // The handshake, the tool list, and the call.
      {
        ...{ step: 3, lines: ["order(tea): “Ordered tea.”"], ...nothing, sessions: 1, orders: 1 },
        ...{ toShop: 4, toAuthorization: 0 },
      },
      // Both in the session of step 3.
      {
        ...{ step: 4, lines: ["order(honey): “Ordered honey.”", "order(milk): “Ordered milk.”"] },
        ...{ ...nothing, orders: 2, refreshed: 1, toShop: 2, toAuthorization: 1 },
      },
    ]);
    expect(kept.map(({ revoked }) => revoked)).toEqual([0, 0, 0, 0]);

    // What it is compared with gets as far as the sign-in. Two refreshes at once are a race.
    const alone = lines.filter((line) => line.with === "ai-sdk");
    expect(alone.map(({ orders }) => orders)).toEqual([0, 0, 1, expect.any(Number)]);
    const pids = lines.flatMap((line) => line.pids);
    expect(new Set(pids).size).toBe(10);
  },
);
