import type { ConnectionEvent } from "@durable-mcp/ai-sdk";
import { forkProgram } from "../durable/fork-program.ts";
import {
  openStoreAt,
  startStorePlace,
  type StoreKind,
  type StorePlace,
} from "../durable/store-place.ts";
import type { SessionStore } from "@durable-mcp/core";
import { availableStores, skippedStores, storeNames } from "./available-stores.ts";
import type { Chat } from "./chat.ts";
import type { Family, Fault } from "./fault.ts";
import type { KilledCallsReport, KilledCallsTask } from "./killed-calls-protocol.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";

type Program = ReturnType<typeof fork>;

interface KillWorld extends ServerWorld {
  readonly store: SessionStore;
  /** A process that has loaded its code; the next one loads meanwhile. */
  readonly nextProgram: () => Program;
  /** Starts it. */
  readonly loadNext: () => void;
}

function fork(place: StorePlace) {
  const program = forkProgram<KilledCallsTask, KilledCallsReport>(
    "../faults/killed-calls-program.ts",
  );
  program.send({ type: "open", place });
  return program;
}

async function openKillWorld(kind: StoreKind): Promise<KillWorld> {
  const { remove, ...place } = await startStorePlace(kind);
  const opened = await openStoreAt(place);
  const served = await openServerWorld();
  let spare = fork(place);
  return {
    ...served,
    store: opened.store,
    nextProgram: () => spare,
    loadNext() {
      spare = fork(place);
    },
    async close() {
      await spare.kill();
      await served.close();
      await opened.close?.();
      await remove();
    },
  };
}

const chatsAtOnce = 3;

/** Nothing is slow here but the machine, which starts a process for each round. */
const times = { connectMs: 10_000, answerMs: 10_000, storeMs: 5_000, closeMs: 10_000 };

/** A process takes its steps of several chats, and is killed at a random moment. */
function killed(name: string, isFirst: boolean): Fault<KillWorld> {
  return {
    name,
    async round(round, { store, front, evidence, nextProgram, loadNext }) {
      const chats = Array.from({ length: chatsAtOnce }, () =>
        round.chat({ url: front.url, store, times }),
      );
      if (!isFirst)
        await Promise.all(chats.map((chat) => chat.step({ calls: 1, isHealthy: true })));
      const program = nextProgram();
      await program.receive();
      const reports = collectReports(program);
      const sessionIds = chats.map(({ options }) => options.id);
      program.send({ type: "work", url: front.url, sessionIds });
      // Every other process is killed while it opens its sessions, and the others while they call.
      if (round.number % 2 === 1) await until(() => reports.some(({ type }) => type === "calling"));
      await after(round.random() * 150);
      const how = await program.kill();
      loadNext();
      if (how !== "SIGKILL") round.fault(`the process ended with ${how}`);
      for (const chat of chats) takeReports(chat, reports, evidence.runs);
      await Promise.all(chats.map((chat) => chat.step({ calls: 2, isHealthy: true, reads: true })));
    },
  };
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Or until it takes too long: what does not happen is seen in the counts. */
async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 5_000; !isSo() && Date.now() < deadline;) await after(2);
}

function collectReports(program: Program): KilledCallsReport[] {
  const reports: KilledCallsReport[] = [];
  const collect = async () => {
    for (;;) reports.push(await program.receive());
  };
  // Until the process ends.
  collect().catch(() => undefined);
  return reports;
}

/** Enters what the process said of a chat before it was killed, as if the chat had seen it itself. */
function takeReports(
  chat: Chat,
  reports: readonly KilledCallsReport[],
  runs: (text: string) => number,
): void {
  const called = new Map<string, string | undefined>();
  for (const report of reports) {
    if (report.type === "ready" || report.sessionId !== chat.options.id) continue;
    if (report.type === "calling") called.set(report.text, undefined);
    if (report.type === "event") {
      chat.log.push({ type: "event", event: report.event as ConnectionEvent["type"] });
    }
    if (report.type !== "answered") continue;
    called.set(report.text, report.answer);
    chat.log.push({ type: "answered", note: report.text, isTold: false });
  }
  for (const [text, answer] of called) {
    const outcome =
      answer === undefined ? { type: "killed" as const } : { type: "answered" as const, answer };
    chat.calls.push({ text, tool: "add_note", step: 0, outcome });
  }
  if (runs(`<${chat.options.id} killed`) > called.size) {
    chat.faults.push("doubled: more calls ran than were made");
  }
}

export const killFamily: Family = {
  name: "kills",
  rounds: 20,
  groups: availableStores.map((kind) => ({
    openWorld: () => openKillWorld(kind),
    faults: [
      killed(`${storeNames[kind]}: first steps killed`, true),
      killed(`${storeNames[kind]}: later steps killed`, false),
    ],
  })),
  skipped: skippedStores,
};
