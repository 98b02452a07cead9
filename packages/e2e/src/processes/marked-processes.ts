import { readdirSync, readFileSync } from "node:fs";

/** The pids of the processes that have a marker in their arguments; Linux only. */
export function processesWith(marker: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => argumentsOf(name).includes(marker))
    .map(Number);
}

/** A process that ended while the folder was read, and a zombie, have none. */
function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The supervisors that a process started. */
export function supervisorsOf(parent: number): number[] {
  return processesWith("supervisor.ts").filter((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
  });
}
