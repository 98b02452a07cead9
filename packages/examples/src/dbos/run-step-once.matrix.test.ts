import { DBOS } from "@dbos-inc/dbos-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { runStepOnce } from "./run-step-once.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);

describe.skipIf(postgresUnavailable)("runStepOnce", () => {
  let runs = 0;
  const run = async () => `run ${(runs += 1)}`;
  const workflow = DBOS.registerWorkflow(
    async () => {
      const made = await runStepOnce("call", { run, interrupted: () => "interrupted" });
      return await DBOS.runStep(async () => made, { name: "last" });
    },
    { name: "calls once" },
  );
  let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;

  beforeAll(async () => {
    postgres = await startPostgres();
    const systemDatabaseUrl = `postgres://${postgresUser}@127.0.0.1:${postgres.port}/once`;
    DBOS.setConfig({ name: "run-step-once", systemDatabaseUrl, logLevel: "error" });
    await DBOS.launch();
  });
  afterAll(async () => {
    await DBOS.shutdown();
    await postgres?.remove();
  });
  beforeEach(() => {
    runs = 0;
  });

  /** The workflow ran, and another one has its log up to a step, as if it had died there. */
  async function diedBefore(step: string) {
    const first = await DBOS.startWorkflow(workflow)();
    expect(await first.getResult()).toBe("run 1");
    const steps = (await DBOS.listWorkflowSteps(first.workflowID)) ?? [];
    const { functionID } = steps.find(({ name }) => name === step)!;
    const second = await DBOS.forkWorkflow<string>(first.workflowID, functionID);
    return await second.getResult({ pollingIntervalMs: 50 });
  }

  test("does not run what has begun and has no result", async () => {
    expect(await diedBefore("call")).toBe("interrupted");
    expect(runs).toBe(1);
  });

  test("runs what has not begun", async () => {
    expect(await diedBefore("call: begun")).toBe("run 2");
  });

  test("keeps the result that there is", async () => {
    expect(await diedBefore("last")).toBe("run 1");
    expect(runs).toBe(1);
  });
});
