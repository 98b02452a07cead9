// What the session fetch costs per request, whatever the size of the answer.
import { afterAll, describe, expect, test } from "vitest";
import { framings } from "./answers.ts";
import { callerNames, createCaller } from "./callers.ts";
import { printTable } from "./print-table.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { startMcpServer } from "./start-mcp-server.ts";

const bytes = 300;
const rounds = 200;
const callsPerRound = 32;

const origin = await startMcpServer();
const rows: string[][] = [];

describe.each(callerNames)("%s", (caller) => {
  describe.each(framings)("%s", (framing) => {
    test.each([1, 8])("%i in flight", async (inFlight) => {
      const url = `${origin}/${framing}/image/${bytes}`;
      const plain = await createCaller[caller](url, fetch);
      const session = await createCaller[caller](url, createResumedFetch(url));
      const [baseline, measured] = await measureSideBySide(
        [
          { name: "plain", run: () => callManyTimes(plain, inFlight) },
          { name: "session", run: () => callManyTimes(session, inFlight) },
        ],
        rounds,
      );
      if (!baseline || !measured) throw new Error("Nothing was measured.");
      const extraMs = measured.extraMs / callsPerRound;
      rows.push([
        caller,
        framing,
        String(inFlight),
        perSecond(baseline.medianMs),
        perSecond(measured.medianMs),
        (1 / measured.ratio).toFixed(2),
        extraMs.toFixed(3),
      ]);
      expect(extraMs).toBeLessThan(0.5);
    });
  });
});

/** `callsPerRound` calls, `inFlight` of them at a time. */
async function callManyTimes(call: () => Promise<unknown>, inFlight: number): Promise<void> {
  const callInTurn = async () => {
    for (let n = 0; n < callsPerRound / inFlight; n += 1) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
}

function perSecond(roundMs: number): string {
  return Math.round((callsPerRound / roundMs) * 1000).toString();
}

afterAll(() => {
  const columns = [
    "caller",
    "answer",
    "in flight",
    "plain calls/s",
    "session calls/s",
    "session : plain",
    "extra ms a call",
  ];
  printTable(`Answers of ${bytes} bytes, medians of ${rounds} rounds`, columns, rows);
});
