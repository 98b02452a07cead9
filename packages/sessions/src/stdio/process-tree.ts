import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

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

/** A running process. Zombies are left out. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** Its session on Linux, its process group elsewhere: children are born into their parent's. */
  readonly group: number;
  /** Tells a process from a later one under the same pid; empty where it is not known. */
  readonly startedAt: string;
}

/** All processes of this machine (or container) that can be seen. */
export function readProcessTable(): ProcessEntry[] {
  return process.platform === "linux" ? readProc() : readPs();
}

function readProc(): ProcessEntry[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const stat = readIfThere(`/proc/${name}/stat`);
    // The command, in parentheses, may hold anything. The fields from the third follow it.
    const [state, parent, , session, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === undefined || state === "" || state === "Z" || state === "X") return [];
    const ids = { pid: Number(name), parent: Number(parent), group: Number(session) };
    return [{ ...ids, startedAt: rest[15] ?? "" }];
  });
}

/** For systems without `/proc`. It also runs on Linux, where the tests compare the two. */
export function readPs(): ProcessEntry[] {
  const { stdout, pid: ownPid } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,state="], {
    encoding: "utf8",
  });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state = "Z"] = line.trim().split(/\s+/);
    if (state.startsWith("Z") || Number(pid) === ownPid) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt: "" }];
  });
}

/** Whether a process was started with this `NAME=value` in its environment; Linux only. */
function hasInEnvironment(pid: number, assignment: string): boolean {
  return readIfThere(`/proc/${pid}/environ`).split("\0").includes(assignment);
}

/** Empty for a process that has ended meanwhile, and for one of another user. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
