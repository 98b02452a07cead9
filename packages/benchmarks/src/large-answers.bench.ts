// The goal: for an answer of 1 MB the session fetch costs at most 0.5 ms or 15 % beside the same
// client with a plain fetch.
import { afterAll, describe, expect, test } from "vitest";
import { framings } from "./answers.ts";
import { callerNames, createCaller } from "./callers.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { startMcpServer } from "./start-mcp-server.ts";
import { createTable } from "./table.ts";
import { toolResultNames } from "./tool-results.ts";

const bytes = 1_000_000;
const rounds = 300;
const maxExtraMs = 0.5;
const maxRatio = 1.15;

const origin = await startMcpServer();
const table = createTable(
  `Answers of ${bytes} bytes over HTTP: medians of ${rounds} rounds`,
  ["caller", "answer", "content"],
  ["plain ms", "session ms", "extra ms", "ratio"],
);
afterAll(() => table.print());

describe.each(callerNames)("%s", (caller) => {
  describe.each(framings)("%s", (framing) => {
    test.each(toolResultNames)("%s", async (content) => {
      const url = `${origin}/${framing}/${encodeURI(content)}/${bytes}`;
      const plainCall = await createCaller[caller](url, fetch);
      const sessionCall = await createCaller[caller](url, createResumedFetch(url));
      expect(withoutId(await sessionCall()) === withoutId(await plainCall())).toBe(true);

      const { plain, session } = await measureSideBySide(
        { plain: plainCall, session: sessionCall },
        rounds,
      );
      const figures = [plain.medianMs, session.medianMs, session.extraMs, session.ratio];
      table.add(
        [caller, framing, content],
        figures.map((figure) => figure.toFixed(2)),
      );
      expect(
        session.extraMs <= maxExtraMs || session.ratio <= maxRatio,
        `${session.extraMs.toFixed(2)} ms more, ${session.ratio.toFixed(2)} times the time`,
      ).toBe(true);
    });
  });
});

/** What two calls have in common: their ids differ. */
function withoutId(answer: unknown): string {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  return text.replace(/"id":\d+\}\s*$/, "");
}
