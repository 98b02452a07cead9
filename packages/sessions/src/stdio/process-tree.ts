import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** In the environment of each server and of its children, with a value of its own. */
export const markName = "DURABLE_MCP_STDIO";

/** The processes of one server, daemons included. */
export interface ProcessTree {
  /** Notes the processes that belong to it now. */
  note(): void;
  /** Whether the server's own process has ended. */
  isRootGone(): boolean;
  /** Whether all have ended. */
  isGone(): boolean;
  /** Sends a signal to each process that has not ended. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/**
 * The tree of a server, whose process began a session. A process belongs to it if it
 *
 * - is in the session, where it was born and stays after its parent's end, or
 * - descends from another that belongs, or
 * - was started with the mark in its environment, which a daemon keeps in its own session, or
 * - belonged at the last look, because its parents may have ended since. So look now and then.
 *
 * @param mark what the value of `DURABLE_MCP_STDIO` begins with
 * @param root the server's own process
 * @param table that several trees share
 */
export function createProcessTree(
  mark: string,
  root: number | undefined,
  table = createProcessTable(),
): ProcessTree {
  let known = new Map<number, ProcessEntry>();
  /** The number of the session. A later process may have it when nothing of this one is left. */
  let session = root;
  let wasSeen = false;

  const look = (): ProcessEntry[] => {
    const entries = table.read();
    const members = new Map<number, ProcessEntry>();
    const belongs = ({ pid, group, startedAt, mark: own }: ProcessEntry) =>
      pid === session ||
      group === session ||
      known.get(pid)?.startedAt === startedAt ||
      own.startsWith(mark);
    for (const entry of entries) if (belongs(entry)) members.set(entry.pid, entry);
    for (let before = -1; before < members.size;) {
      before = members.size;
      for (const entry of entries) if (members.has(entry.parent)) members.set(entry.pid, entry);
    }
    known = members;
    const isSeen = entries.some(({ pid, group }) => pid === session || group === session);
    if (wasSeen && !isSeen) session = undefined;
    wasSeen ||= isSeen;
    return [...members.values()];
  };

  return {
    note: () => void look(),
    isRootGone: () => !look().some(({ pid }) => pid === session),
    isGone: () => look().length === 0,
    signal(signal) {
      for (const { pid } of look()) send(pid, signal);
    },
  };
}

/** What is read is used for this long, in milliseconds, or twice as long as reading took: trees that end at once share it. */
const freshMs = 4;

/** All processes of this machine (or container) that can be seen, but for this one. */
export function createProcessTable() {
  let entries: readonly ProcessEntry[] = [];
  let freshUntil = -Infinity;
  /** A process keeps its environment. It is read once. */
  let marks = new Map<string, string>();
  return {
    read(): readonly ProcessEntry[] {
      const begun = performance.now();
      if (begun < freshUntil) return entries;
      const before = marks;
      marks = new Map();
      entries = readProcesses().flatMap((entry) => {
        if (entry.pid === process.pid) return [];
        const mark = before.get(identity(entry)) ?? markIn(entry.pid);
        if (entry.startedAt !== "") marks.set(identity(entry), mark);
        return [{ ...entry, mark }];
      });
      const now = performance.now();
      freshUntil = now + Math.max(freshMs, 2 * (now - begun));
      return entries;
    },
    /** What comes next is read anew. */
    forget: () => void (freshUntil = -Infinity),
  };
}

interface ProcessEntry extends FoundProcess {
  /** Of the server to which it belongs; empty without one. */
  readonly mark: string;
}

function identity({ pid, startedAt }: FoundProcess): string {
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
interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  /** Its session on Linux, its process group elsewhere: children are born into their parent's. */
  readonly group: number;
  /** Tells a process from a later one under the same pid; empty where it is not known. */
  readonly startedAt: string;
}

export function readProcesses(): FoundProcess[] {
  return process.platform === "linux" ? readProc() : readPs();
}

function readProc(): FoundProcess[] {
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
export function readPs(): FoundProcess[] {
  const { stdout, pid: ownPid } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,state="], {
    encoding: "utf8",
  });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state = "Z"] = line.trim().split(/\s+/);
    if (state.startsWith("Z") || Number(pid) === ownPid) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt: "" }];
  });
}

/** The mark with which a process was started; Linux only. */
function markIn(pid: number): string {
  const start = `${markName}=`;
  const found = readIfThere(`/proc/${pid}/environ`)
    .split("\0")
    .find((line) => line.startsWith(start));
  return found?.slice(start.length) ?? "";
}

/** Empty for a process that has ended meanwhile, and for one of another user. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
