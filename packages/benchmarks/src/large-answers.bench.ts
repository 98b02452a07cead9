// The goal: for an answer of 1 MB the session fetch costs at most 0.5 ms or 15 % beside the same
// client with a plain fetch.
import { afterAll, describe, expect, test } from "vitest";
import { framings } from "./answers.ts";
import { callerNames, createCaller } from "./callers.ts";
import { printTable } from "./print-table.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { startMcpServer } from "./start-mcp-server.ts";
import { toolResultNames } from "./tool-results.ts";

const bytes = 1_000_000;
const rounds = 300;
const maxExtraMs = 0.5;
const maxRatio = 1.15;

const origin = await startMcpServer();
const rows: string[][] = [];

describe.each(callerNames)("%s", (caller) => {
  describe.each(framings)("%s", (framing) => {
    test.each(toolResultNames)("%s", async (result) => {
      const url = `${origin}/${framing}/${encodeURI(result)}/${bytes}`;
      const plain = await createCaller[caller](url, fetch);
      const session = await createCaller[caller](url, createResumedFetch(url));
      expect(withoutId(await session()) === withoutId(await plain())).toBe(true);

      const [baseline, measured] = await measureSideBySide(
        [
          { name: "plain", run: plain },
          { name: "session", run: session },
        ],
        rounds,
      );
      if (!baseline || !measured) throw new Error("Nothing was measured.");
      const { medianMs, extraMs, ratio } = measured;
      rows.push([
        caller,
        framing,
        result,
        baseline.medianMs.toFixed(2),
        medianMs.toFixed(2),
        extraMs.toFixed(2),
        ratio.toFixed(2),
      ]);
      expect(
        extraMs <= maxExtraMs || ratio <= maxRatio,
        `${extraMs.toFixed(2)} ms more, ${ratio.toFixed(2)} times the time`,
      ).toBe(true);
    });
  });
});

/** The two calls have ids of their own, of one length or two. */
function withoutId(answer: unknown): string {
  return (typeof answer === "string" ? answer : JSON.stringify(answer)).replace(
    /"id":\d+\}\s*$/,
    "",
  );
}

afterAll(() => {
  const columns = ["caller", "answer", "content", "plain ms", "session ms", "extra ms", "ratio"];
  printTable(`Answers of ${bytes} bytes, medians of ${rounds} rounds`, columns, rows);
});
