// What the session fetch costs per request, whatever the size of the answer.
import { afterAll, describe, expect, test } from "vitest";
import { framings } from "./answers.ts";
import { type Caller, callerNames, createCaller } from "./callers.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { startMcpServer } from "./start-mcp-server.ts";
import { createTable } from "./table.ts";

const bytes = 300;
const rounds = 200;
const callsPerRound = 32;
const maxExtraMs = 0.5;

const origin = await startMcpServer();
const table = createTable(
  `Answers of ${bytes} bytes over HTTP: medians of ${rounds} rounds of ${callsPerRound} calls`,
  ["caller", "answer", "in flight"],
  ["plain calls/s", "session calls/s", "session : plain", "extra ms per call"],
);
afterAll(() => table.print());

describe.each(callerNames)("%s", (caller) => {
  describe.each(framings)("%s", (framing) => {
    test.each([1, 8])("%i in flight", async (inFlight) => {
      const url = `${origin}/${framing}/image/${bytes}`;
      const plainCall = await createCaller[caller](url, fetch);
      const sessionCall = await createCaller[caller](url, createResumedFetch(url));
      const { plain, session } = await measureSideBySide(
        {
          plain: () => callManyTimes(plainCall, inFlight),
          session: () => callManyTimes(sessionCall, inFlight),
        },
        rounds,
      );
      const extraMs = session.extraMs / callsPerRound;
      table.add(
        [caller, framing, String(inFlight)],
        [
          perSecond(plain.medianMs),
          perSecond(session.medianMs),
          (1 / session.ratio).toFixed(2),
          extraMs.toFixed(2),
        ],
      );
      expect(extraMs).toBeLessThan(maxExtraMs);
    });
  });
});

/** `callsPerRound` calls, `inFlight` of them at a time. */
async function callManyTimes(call: Caller, inFlight: number): Promise<void> {
  const callInTurn = async () => {
    for (let n = 0; n < callsPerRound / inFlight; n += 1) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
}

function perSecond(roundMs: number): string {
  return ((callsPerRound / roundMs) * 1000).toFixed(0);
}
