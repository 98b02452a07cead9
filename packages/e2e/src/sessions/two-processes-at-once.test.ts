import { describe, expect, test } from "vitest";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import type { ClientName } from "../clients/index.ts";
import { isMatrix, withClients } from "../matrix/pairs.ts";
import { overlappingCalls } from "../stateful/overlapping-calls.ts";
import { runStep, runStepsAtOnce } from "../steps/run-step.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import { useServer } from "../servers/use-server.ts";
import { type StatefulServer, serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import type { StepInput } from "../steps/step-protocol.ts";

const callsPerProcess = isMatrix ? 100 : 25;

const serversWithSlowTools = serversWithoutBrowser.filter((server) => server.slowCall);

async function wrongAnswersOfTwoProcesses(
  server: StatefulServer,
  step: StepInput,
): Promise<string[]> {
  const first = await runStep({ ...step, list: true });
  expect(first.error).toBeUndefined();
  const plans = ["left", "right"].map((tag) => overlappingCalls(server, tag, callsPerProcess));
  const runs = await runStepsAtOnce(
    plans.map((calls) => ({ ...step, snapshot: first.snapshot, calls, overlapping: true })),
  );
  for (const run of runs) {
    expect(run.error).toBeUndefined();
    expect(sessionIdOf(run.snapshot) === sessionIdOf(first.snapshot)).toBe(true);
  }
  return runs.flatMap((run, index) => wrongAnswers(plans[index]!, run.results));
}

/** Clients that send the ids that they count; in `npm test` one, to one server. */
const passedThrough: ClientName[] = [
  "@ai-sdk/mcp 2",
  ...(isMatrix ? (["@modelcontextprotocol/sdk 1"] as const) : []),
];

describe.each(withClients(serversWithSlowTools, { count: 1, third: 1 }))(
  "two processes at once on one session of $name",
  (stateful) => {
    const used = useServer(stateful.start);

    test.concurrent.each(stateful.clients)(
      `%s: ${callsPerProcess} overlapping calls each get their own answers (S17, S44, S45)`,
      async (client) => {
        expect(
          await wrongAnswersOfTwoProcesses(stateful, { client, url: used.server.url }),
        ).toEqual([]);
      },
    );

    // Without this, the test above might pass because the answers never overlap.
    test.concurrent.each(
      passedThrough.filter((name) => isMatrix || stateful.clients.includes(name)),
    )("%s: answers cross or hang when request ids are passed through", async (client) => {
      const step: StepInput = {
        client,
        url: used.server.url,
        sessionFetch: "pass-through",
        callTimeoutMs: 4_000,
      };
      const wrong = await wrongAnswersOfTwoProcesses(stateful, step);
      const hung = wrong.filter((line) => line.endsWith("hung")).length;
      console.log(
        `${stateful.name}, ${client}: ${hung} hung, ${wrong.length - hung} crossed or failed`,
      );
      expect(wrong.length).toBeGreaterThan(0);
    });
  },
);
