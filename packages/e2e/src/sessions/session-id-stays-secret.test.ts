import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { pairs, share } from "../matrix/pairs.ts";
import { runStep } from "../steps/run-step.ts";
import type { StepInput, StepRun } from "../steps/step-protocol.ts";
import { assertNoSessionId, sessionIdOf } from "../steps/session-id-canary.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";

// Every `runStep` in this package looks for the id; this file adds the cases that invite a leak.
describe("the session id", () => {
  const notebook = useServer(startNotebookServer);

  const refusals = pairs([400, 403, 500], clientNames);

  describe.each(share(clientNames, 2))("with %s", (client) => {
    const stepWith = (more: Partial<StepInput>) =>
      runStep({ client, url: notebook.server.url, list: true, ...more });
    let first: StepRun;
    beforeAll(async () => {
      first = await stepWith({});
    });

    test.each(refusals.filter(([, name]) => name === client).map(([status]) => status))(
      "is not in the error when the server's refusal (%i) repeats it (S55)",
      async (status) => {
        const calls = [{ tool: "refuse", args: { status } }];
        const run = await stepWith({ snapshot: first.snapshot, calls });
        expect(run.results[0]?.error).toBeDefined();
        expect(sessionIdOf(run.snapshot) === sessionIdOf(first.snapshot)).toBe(true);
        assertNoSessionId(run, [first.snapshot]);
      },
    );

    test("is not in an event or error when the server forgets it and says so (S55, S58)", async ({
      onTestFinished,
    }) => {
      const folder = mkdtempSync(join(tmpdir(), "durable-mcp-secret-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const savePath = join(folder, "second.json");
      // A second loss in a row: the new session is refused as well.
      const calls = [{ tool: "refuse", args: { status: 404 } }];
      const run = await stepWith({ snapshot: first.snapshot, calls, savePath });
      expect(run.results[0]?.error).toBeDefined();
      expect(run.events.length).toBeGreaterThan(0);
      const second: unknown = JSON.parse(readFileSync(savePath, "utf8"));
      expect(sessionIdOf(second) === sessionIdOf(first.snapshot)).toBe(false);
      assertNoSessionId(run, [first.snapshot, second]);
    });
  });

  test("is found by the check when a step shows it", () => {
    const snapshot = { sessionId: "an-id-that-must-not-show" };
    const run: StepRun = { pid: 1, snapshot, results: [], events: [], printed: "" };
    expect(() => assertNoSessionId(run, [snapshot])).not.toThrow();
    const printed = "resuming an-id-that-must-not-show";
    expect(() => assertNoSessionId({ ...run, printed }, [snapshot])).toThrow(
      "outside the snapshot",
    );
    const error = { name: "Error", message: "", printed: "x an-id-that-must-not-show" };
    expect(() =>
      assertNoSessionId({ ...run, results: [{ tool: "t", error }] }, [snapshot]),
    ).toThrow("outside the snapshot");
  });
});
