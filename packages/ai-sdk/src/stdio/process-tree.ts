import { hasInEnvironment, type ProcessEntry, readProcessTable } from "./process-table.ts";

/** The processes of one server, daemons included. */
export interface ProcessTree {
  /** Notes the processes that belong to it now. */
  note(): void;
  /** Whether all have ended. */
  isGone(): boolean;
  /** Sends a signal to each process that has not ended. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * The tree below a supervisor, without the supervisor itself. A process belongs to it if it
 *
 * - descends from the supervisor or from another that belongs, or
 * - is in the supervisor's session, where it was born and stays after its parent's end, or
 * - was started with the mark in its environment, which a daemon keeps in its own session, or
 * - belonged at the last look, because its parents may have ended since. So look now and then.
 *
 * @param mark `NAME=value`, in the environment of the server and whatever it starts
 */
export function createProcessTree(supervisor: number, mark: string): ProcessTree {
  let known = new Map<number, ProcessEntry>();
  /** Processes without the mark. They are not read again. */
  let strangers = new Set<string>();

  const look = (): ProcessEntry[] => {
    const table = readProcessTable().filter(({ pid }) => pid !== supervisor && pid !== process.pid);
    const members = new Map<number, ProcessEntry>();
    const unmarked = new Set<string>();
    for (const entry of table) {
      const wasMember = known.get(entry.pid)?.startedAt === entry.startedAt;
      const isNear = entry.parent === supervisor || entry.group === supervisor;
      const isStranger = () => entry.startedAt !== "" && strangers.has(identity(entry));
      if (wasMember || isNear || (!isStranger() && hasInEnvironment(entry.pid, mark))) {
        members.set(entry.pid, entry);
      } else {
        unmarked.add(identity(entry));
      }
    }
    for (let before = -1; before < members.size;) {
      before = members.size;
      for (const entry of table) if (members.has(entry.parent)) members.set(entry.pid, entry);
    }
    strangers = unmarked;
    known = members;
    return [...members.values()];
  };

  return {
    note: () => void look(),
    isGone: () => look().length === 0,
    signal(signal) {
      for (const { pid } of look()) send(pid, signal);
    },
  };
}

function identity({ pid, startedAt }: ProcessEntry): string {
  return `${pid} ${startedAt}`;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone, or another user's.
  }
}
