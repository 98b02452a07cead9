import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Kills a process and all its descendants, those in process groups of their own (browsers) included. */
export function killProcessTree(root: number): void {
  for (const pid of [root, ...descendants(root)]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Already gone.
    }
  }
}

function descendants(root: number): number[] {
  const table = existsSync("/proc/self/stat") ? processesFromProc() : processesFromPs();
  const found: number[] = [];
  const pending = [root];
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    const children = table
      .filter((process) => process.parent === parent)
      .map((process) => process.pid);
    found.push(...children);
    pending.push(...children);
  }
  return found;
}

interface ProcessEntry {
  pid: number;
  parent: number;
}

/** Slim containers have no `ps`. */
function processesFromProc(): ProcessEntry[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // The command, in parentheses, may hold spaces; the state and the parent follow it.
      const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
      return [{ pid: Number(name), parent: Number(parent) }];
    } catch {
      return [];
    }
  });
}

function processesFromPs(): ProcessEntry[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .trim()
    .split("\n");
  return lines.map((line) => {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    return { pid, parent };
  });
}
