import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

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
    return [
      {
        pid: Number(name),
        parent: Number(parent),
        group: Number(session),
        startedAt: rest[15] ?? "",
      },
    ];
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
export function hasInEnvironment(pid: number, assignment: string): boolean {
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
