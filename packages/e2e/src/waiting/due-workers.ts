import { waitingCallOf } from "@durable-mcp/core/waiting";
import type { SlowKind } from "../../../sessions/test/slow-server.ts";
import { pollMs } from "../../../sessions/test/slow-work.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";
import { startSlowProgram } from "../servers/slow.ts";
import type { DueReport, DueWork } from "./due-worker-program.ts";
import { createLab, type LabUse } from "./waiting-lab.ts";
import { principal } from "./waiting-shop.ts";

const kind: SlowKind = "task of 2026-07-28";

/** What became of calls at which several workers look, whenever one is due. */
export interface DueRun {
  readonly calls: number;
  /** How often the server was asked for a task. */
  readonly looks: number;
  /** Looks before the interval of the task was over. */
  readonly early: number;
  readonly seconds: number;
  readonly faults: string[];
}

/** Workers look at task calls, each in a process of its own, until all are over. */
export async function runDueWorkers({
  store: storeKind,
  workers,
  calls,
}: {
  readonly store: StoreKind;
  readonly workers: number;
  readonly calls: number;
}): Promise<DueRun> {
  const { remove, ...place } = await startStorePlace(storeKind);
  const server = await startSlowProgram(kind);
  const { store, close } = await openStoreAt(place);
  const use: LabUse = { kind, url: server.url, sessionId: "due" };
  const lab = createLab(use, { store });
  const lastLook = new Map<string, number>();
  let looks = 0;
  let early = 0;
  server.onMessage = ({ method, params }) => {
    if (method !== "tasks/get") return;
    looks += 1;
    const { taskId } = params;
    if (Date.now() - (lastLook.get(taskId) ?? 0) < pollMs) early += 1;
    lastLook.set(taskId, Date.now());
    // So each is looked at twice, on average, before it is done.
    if (looks % 2 === 0) server.works[looks / 2 - 1]?.set("done");
  };
  try {
    const ids = await Promise.all(
      Array.from({ length: 10 }, async (_, chat) => {
        const own: string[] = [];
        await lab.sessions.run(`chat ${chat}`, { principal }, async (run) => {
          for (let index = chat; index < calls; index += 10) {
            const result = await run.call("lab", "research", { topic: String(index) });
            own.push(waitingCallOf(result)!.id);
          }
        });
        return own;
      }),
    );
    const startedAt = Date.now();
    const program = new URL("due-worker-program.ts", import.meta.url);
    const input: DueWork = { place, use, idleMs: 20 * pollMs };
    const reports = await Promise.all(
      Array.from({ length: workers }, async () => {
        const options = { input, timeoutMs: 600_000 };
        const { output } = await (await startModule<DueWork, DueReport>(program, options)).finish();
        return output;
      }),
    );
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    const settled = reports.flatMap((report) => report.settled);
    const lost = ids.flat().filter((id) => !settled.includes(id)).length;
    const twice = settled.length - new Set(settled).size;
    const idle = reports.filter((report) => report.looks === 0).length;
    const wrong: [number, string][] = [
      [early, "looks came before the interval of their task was over"],
      [lost, "calls were not settled"],
      [twice, "calls were settled twice"],
      [Math.abs(server.works.length - calls), "calls were not carried out once"],
      [idle, "workers looked at nothing"],
    ];
    const faults = wrong.flatMap(([count, text]) => (count > 0 ? [`${count} ${text}`] : []));
    return { calls, looks, early, seconds, faults };
  } finally {
    await server.close();
    await close?.();
    await remove();
  }
}
