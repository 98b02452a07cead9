import type { SessionStore } from "@durable-mcp/core";
import { type Step, type StepContext, type StopOptions, type StopPlan } from "@durable-mcp/testing";
import {
  openStoreAt,
  startStorePlace,
  type StoreKind,
  type StorePlace,
} from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";

/** What a process that is going to be killed is told. */
export type KilledTask<POINT extends string, TASK extends object> = TASK & {
  readonly place: StorePlace;
  readonly point: POINT;
};

/** What is killed, where, and what must be true afterwards. */
export interface KillSubject<POINT extends string, TASK extends object, COUNT extends string> {
  /** As `killed-program.ts` knows it. */
  readonly name: string;
  /** Where a process is killed, in the order of its work. */
  readonly points: readonly POINT[];
  /** What is counted at each point: the headings of the table. */
  readonly counts: Readonly<Record<COUNT, string>>;
  /** What a process does that is killed. */
  readonly work: (
    task: KilledTask<POINT, TASK>,
    context: StepContext & { readonly store: SessionStore },
  ) => Promise<unknown>;
  /** Where that process is then, unless somebody else sees that it is there. */
  readonly stopAt: (point: POINT) => StopPlan;
  /** How many worlds share the store: one process starts while another is killed. @default 2 */
  readonly lanes?: number;
  /** Starts what the processes need. */
  readonly openWorld: (store: SessionStore) => Promise<KillWorld<POINT, TASK, COUNT>>;
}

export interface KillWorld<POINT extends string, TASK extends object, COUNT extends string> {
  /** Prepares a process, has it killed, and checks what it leaves behind. */
  readonly round: (round: KillRound<POINT, TASK, COUNT>) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface KillRound<POINT extends string, TASK extends object, COUNT extends string> {
  readonly point: POINT;
  /** The agent session: another in each round. */
  readonly sessionId: string;
  /** How many processes were killed at this point before. */
  readonly before: number;
  /**
   * Gives a process its task, and kills it when it is at its point.
   *
   * @param reached resolves when somebody else sees that it is there
   */
  readonly kill: (task: TASK, reached?: Promise<void>) => Promise<void>;
  /**
   * After others went on: lets a process go on that was frozen instead of killed, and waits for its end.
   *
   * @returns whether there was one
   */
  readonly thaw: () => Promise<boolean>;
  readonly count: (name: COUNT, by?: number) => void;
  /** What must not be. */
  readonly fault: (text: string) => void;
}

/** What became of the kills at one point. */
export interface KillRow<POINT extends string, COUNT extends string> {
  readonly point: POINT;
  kills: number;
  readonly counts: Record<COUNT, number>;
  /** One line each. */
  readonly faults: string[];
}

export interface KillTimes {
  readonly store: StoreKind;
  /** All in all, evenly at each point. */
  readonly times: number;
  readonly onKill?: (count: number) => void;
  /** Whether processes are stopped, and go on when others have done their work. @default false */
  readonly freezes?: boolean;
}

/** Kills processes with `kill -9`, or freezes them with SIGSTOP. */
export async function killAll<POINT extends string, TASK extends object, COUNT extends string>(
  subject: KillSubject<POINT, TASK, COUNT>,
  { store: kind, times, onKill, freezes = false }: KillTimes,
): Promise<KillRow<POINT, COUNT>[]> {
  const { remove, ...place } = await startStorePlace(kind);
  const rows = subject.points.map((point) => newRow(point, subject.counts));
  // A share is of all of them.
  const step = Math.max(1, rows.length / times);
  const rowAt = (index: number) => rows[Math.floor(index * step) % rows.length]!;
  const plan = Array.from({ length: times }, (_, index) => rowAt(index)).entries();
  let count = 0;
  try {
    const lane = async () => {
      const killer = await createKiller(subject, place, freezes);
      try {
        for (const [index, row] of plan) {
          await killer.kill(row, `chat-${index}`);
          count += 1;
          onKill?.(count);
        }
      } finally {
        await killer.close();
      }
    };
    await Promise.all(Array.from({ length: subject.lanes ?? 2 }, lane));
    return rows;
  } finally {
    await remove();
  }
}

function newRow<POINT extends string, COUNT extends string>(
  point: POINT,
  counts: Readonly<Record<COUNT, string>>,
): KillRow<POINT, COUNT> {
  const zeros = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
  return { point, kills: 0, counts: zeros as Record<COUNT, number>, faults: [] };
}

/** Starts a process of a subject that is going to be killed. */
export async function startKilled(subject: string, task: object): Promise<Step<unknown>> {
  const program = new URL("killed-program.ts", import.meta.url);
  return await startModule(program, { input: { subject, task } });
}

/** Of points such as "ask: before put 1", "start: request sent" and "refused: answer received". */
export function stopAtPoint(point: string, on?: string): StopPlan {
  const [, when, operation, nth] = /(before|during|after) (put|delete) (\d)$/.exec(point) ?? [];
  if (when === undefined) {
    return { at: point.endsWith("received") ? "after-answer" : "after-send", on };
  }
  const name = operation === "put" ? "save" : "delete";
  return { at: `${when as "before"}-${name}`, nth: Number(nth) };
}

async function createKiller<POINT extends string, TASK extends object, COUNT extends string>(
  subject: KillSubject<POINT, TASK, COUNT>,
  place: StorePlace,
  isFrozen: boolean,
) {
  const { store, close } = await openStoreAt(place);
  const world = await subject.openWorld(store);
  let frozen: Step<unknown> | undefined;

  const killOne = async (task: KilledTask<POINT, TASK>, seen: Promise<void> | undefined) => {
    await frozen?.kill();
    frozen = undefined;
    const step = await startKilled(subject.name, task);
    const stop: StopOptions = seen ? { at: seen } : subject.stopAt(task.point);
    await (isFrozen ? step.freeze(stop) : step.kill(stop)).catch((error: unknown) => {
      throw new Error(`${task.point} was not reached: ${String(error)}`);
    });
    if (isFrozen) frozen = step;
  };

  const thaw = async (fault: (text: string) => void) => {
    const thawed = frozen;
    if (thawed === undefined) return false;
    frozen = undefined;
    thawed.resume();
    await thawed.finish().catch((error: unknown) => {
      // What it comes to find done by others is refused clearly.
      if ((error as Error).name !== "McpSessionError") fault(`it went on: ${String(error)}`);
    });
    return true;
  };

  return {
    async kill(row: KillRow<POINT, COUNT>, sessionId: string): Promise<void> {
      const { point, kills: before, counts, faults } = row;
      const fault = (text: string) => void faults.push(`${sessionId}, ${point}: ${text}`);
      await world.round({
        ...{ point, sessionId, before, fault },
        async kill(task, reached) {
          await killOne({ ...task, place, point }, reached);
          row.kills += 1;
        },
        thaw: () => thaw(fault),
        count: (name, by = 1) => void (counts[name] += by),
      });
    },
    async close() {
      await frozen?.kill();
      await close?.();
      await world.close();
    },
  };
}

/** The rows as a table. */
export function killTable<POINT extends string, COUNT extends string>(
  subject: { readonly counts: Readonly<Record<COUNT, string>> },
  rows: readonly KillRow<POINT, COUNT>[],
): string {
  const names = Object.keys(subject.counts) as COUNT[];
  const lines = [
    ["killed", "times", ...names.map((name) => subject.counts[name]), "faults"],
    ["---", ...Array.from({ length: names.length + 2 }, () => "---:")],
    ...rows.map(({ point, kills, counts, faults }) =>
      [point, kills, ...names.map((name) => counts[name]), faults.length].map(String),
    ),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
