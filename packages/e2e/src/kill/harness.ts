import type { SessionStore } from "@durable-mcp/core";
import { forkProgram } from "../durable/fork-program.ts";
import {
  openStoreAt,
  startStorePlace,
  type StoreKind,
  type StorePlace,
} from "../durable/store-place.ts";
import type { At, KilledReport, KilledTask } from "./killed-process.ts";

/** What is killed, where, and what must be true afterwards. */
export interface KillSubject<POINT extends string, TASK extends object, COUNT extends string> {
  /** As `killed-program.ts` knows it. */
  readonly name: string;
  /** Where a process is killed, in the order of its work. */
  readonly points: readonly POINT[];
  /** What is counted at each point: the headings of the table. */
  readonly counts: Readonly<Record<COUNT, string>>;
  /** What a process does that is killed. Its points are those at which it calls `at`. */
  readonly work: (
    task: KilledTask<POINT, TASK>,
    parts: { readonly store: SessionStore; readonly at: At },
  ) => Promise<unknown>;
  /** Starts what the processes need. Two such worlds share the store. */
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
  const plan = Array.from({ length: times }, (_, index) => rows[index % rows.length]!).entries();
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
    // One process starts while another is killed.
    await Promise.all([lane(), lane()]);
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

/** Within this time a process ends that goes on, in milliseconds. */
const thawedMs = 20_000;

async function createKiller<POINT extends string, TASK extends object, COUNT extends string>(
  subject: KillSubject<POINT, TASK, COUNT>,
  place: StorePlace,
  isFrozen: boolean,
) {
  const program = new URL("killed-program.ts", import.meta.url);
  const fork = () => forkProgram<KilledTask<POINT, TASK>, KilledReport>(program, [subject.name]);
  const { store, close } = await openStoreAt(place);
  const world = await subject.openWorld(store);
  let spare = fork();
  let frozen: typeof spare | undefined;

  /** Gives a process its task, and resolves to how it ended. */
  const killOne = async (task: KilledTask<POINT, TASK>, seen: Promise<void> | undefined) => {
    const process = spare;
    spare = fork();
    await process.receive();
    process.send(task);
    // The end of the process before its point is a failure of the harness.
    const reached = process.receive();
    await (seen ? Promise.race([seen, reached]) : reached);
    reached.catch(() => undefined);
    if (!isFrozen) return await process.kill();
    // At its own points it stops itself: it would do so once more.
    if (seen) process.signal("SIGSTOP");
    frozen = process;
    return undefined;
  };

  const thaw = async (fault: (text: string) => void) => {
    const thawed = frozen;
    if (thawed === undefined) return false;
    frozen = undefined;
    thawed.signal("SIGCONT");
    const timer = setTimeout(() => void thawed.kill(), thawedMs);
    const how = await thawed.ended;
    clearTimeout(timer);
    if (how !== "exit code 0") fault(`it went on, and ended with ${how}`);
    return true;
  };

  return {
    async kill(row: KillRow<POINT, COUNT>, sessionId: string): Promise<void> {
      const { point, kills: before, counts, faults } = row;
      const fault = (text: string) => void faults.push(`${sessionId}, ${point}: ${text}`);
      await world.round({
        ...{ point, sessionId, before, fault },
        async kill(task, reached) {
          await frozen?.kill();
          const how = await killOne({ ...task, place, point, isFrozen }, reached);
          if (how !== undefined && how !== "SIGKILL") fault(`ended with ${how}`);
          row.kills += 1;
        },
        thaw: () => thaw(fault),
        count: (name, by = 1) => void (counts[name] += by),
      });
    },
    async close() {
      await spare.kill();
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
