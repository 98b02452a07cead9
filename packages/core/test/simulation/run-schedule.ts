import { parseSessionSnapshot } from "../../src/index.ts";
import type { Counts, Violation } from "./invariant-model.ts";
import { createInvariantChecks } from "./invariants.ts";
import { type Parts, realParts } from "./parts.ts";
import type { Disturbance, Plan } from "./plan.ts";
import { createRandom } from "./random.ts";
import { createScheduler } from "./scheduler.ts";
import { createSimulatedNetwork } from "./simulated-network.ts";
import {
  ownerName,
  runSimulatedProcess,
  serverUrl,
  type SnapshotStore,
} from "./simulated-process.ts";
import { createSimulatedServer } from "./simulated-server.ts";
import { withVirtualGlobals } from "./virtual-globals.ts";

export interface ScheduleResult {
  readonly violations: readonly Violation[];
  readonly counts: Counts;
  /** What happened, a line for each turn. */
  readonly trace: readonly string[];
}

/** Runs one schedule to its end. The same plan gives the same trace. One at a time per process. */
export async function runSchedule(plan: Plan, parts: Parts = realParts): Promise<ScheduleResult> {
  const random = createRandom(plan.seed);
  const scheduler = createScheduler(random);
  const checks = createInvariantChecks();
  const store: SnapshotStore = new Map();
  const names = new Set(
    [...plan.processes, ...plan.disturbances].map(({ connection }) => connection),
  );
  const servers = new Map(
    [...names]
      .flatMap((name) => [serverUrl(name, false), serverUrl(name, true)])
      .map((url) => [url, createSimulatedServer(url, random)]),
  );
  const { faults, heedsSignals } = plan;
  const fetchFor = createSimulatedNetwork({
    random,
    scheduler,
    checks,
    faults,
    heedsSignals,
    servers,
  });

  const disturb = async ({ kind, connection, after }: Disturbance) => {
    await scheduler.turns(after);
    checks.count(`disturbance: ${kind}`);
    const url = serverUrl(connection, false);
    if (kind === "restart") return servers.get(url)?.restart();
    if (kind === "forget") return servers.get(url)?.forget();
    for (const { principal } of plan.processes) {
      const saved = store.get(parts.sessionKey({ connection, principal }));
      const snapshot = saved === undefined ? undefined : parseSessionSnapshot(JSON.parse(saved));
      if (snapshot?.url !== url) continue;
      const headers = { authorization: ownerName(principal) };
      await parts.endSession({ url, snapshot, headers, fetch: fetchFor("somebody") });
      return;
    }
  };

  const onUnhandled = (reason: unknown) => {
    checks.violate("one-outcome", `unhandled rejection: ${String(reason)}`);
  };
  process.on("unhandledRejection", onUnhandled);
  try {
    await withVirtualGlobals(scheduler, random, async () => {
      let isOver = false;
      const all = Promise.all([
        ...plan.processes.map((process) =>
          runSimulatedProcess({
            plan: process,
            schedule: plan,
            parts,
            store,
            fetch: fetchFor(process.name),
            random,
            scheduler,
            checks,
          }),
        ),
        ...plan.disturbances.map(disturb),
      ]);
      all.then(
        () => (isOver = true),
        (error: unknown) => {
          isOver = true;
          checks.violate("one-outcome", `a process crashed: ${(error as Error).stack}`);
        },
      );
      const end = await scheduler.run(
        () => isOver,
        () => checks.checkSlots(),
      );
      if (end !== "over")
        checks.violate("one-outcome", `the schedule was ${end}: a call never ended`);
    });
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  return { violations: checks.violations, counts: checks.counts, trace: scheduler.trace };
}
