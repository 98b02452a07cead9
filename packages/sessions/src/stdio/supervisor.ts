/**
 * Ends all processes of a program's stdio servers, even if the program is killed. The supervisor is a process with a
 * session of its own, one for all servers of a program. So Ctrl-C or kill -9 may end the program, and the supervisor
 * lives long enough to clean up. The IPC channel to the program is the lifeline: when it closes, the program has ended.
 *
 * Started by `supervisor-link.ts`, by file name, with what all marks of the program begin with. Imports nothing but
 * siblings and Node.
 */
import { spawnSync } from "node:child_process";
import type { Socket } from "node:net";
import { createProcessTable, createProcessTree, type ProcessTree } from "./process-tree.ts";

/** A message from the program to its supervisor. */
export type SupervisorOrder =
  | {
      readonly type: "watch";
      /** Names a server, which was just started. */
      readonly mark: string;
      readonly pid: number;
      /** How long the server has to end by itself, and again after SIGTERM, in milliseconds. */
      readonly closeMs: number;
    }
  | { readonly type: "end"; readonly mark: string };

/**
 * A message from a supervisor: it has looked at a server's processes, and the program may close the server's stdin; or
 * all of them have ended.
 */
export interface SupervisorNotice {
  readonly type: "looked" | "gone";
  readonly mark: string;
}

/** The time between two looks at the servers' processes, in milliseconds. It grows from look to look. */
const firstLookMs = 50;
const longestLookMs = 1_000;
/** How long SIGKILL is repeated for processes that it did not end at once, in milliseconds. */
const killForMs = 5_000;
const firstPauseMs = 5;
const longestPauseMs = 100;
/** For a server that the program did not come to name, in milliseconds. */
const unnamedMs = 1_000;

interface Server {
  readonly mark: string;
  readonly tree: ProcessTree;
  readonly closeMs: number;
  /** Also held here, so that the server does not read its end before its processes are known. */
  readonly stdin?: Socket | undefined;
  ending?: Promise<void>;
}

const [, , marks = ""] = process.argv;
const table = createProcessTable();
const servers = new Map<string, Server>();

process.on("message", (order: SupervisorOrder, stdin?: Socket) => {
  const { mark } = order;
  if (order.type === "watch") {
    const { pid, closeMs } = order;
    const tree = process.platform === "win32" ? windowsTree(pid) : createTree(mark, pid);
    stdin?.on("error", () => undefined);
    servers.set(mark, { mark, tree, closeMs, stdin });
    lookMs = firstLookMs;
    lookAgain();
  } else if (servers.has(mark)) void end(servers.get(mark)!);
  else tell({ type: "gone", mark });
});
process.on("disconnect", () => void endAll());
process.on("SIGTERM", () => void endAll());
// It may have ended before anybody listened. What it said before is heard first.
if (!process.connected) setImmediate(() => void endAll());
// These signals are for the program. It decides when a server ends.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);

function createTree(mark: string, pid?: number): ProcessTree {
  return createProcessTree(mark, pid, table);
}

let lookMs = firstLookMs;
let looking: NodeJS.Timeout | undefined;

function lookAgain(): void {
  clearTimeout(looking);
  if (servers.size === 0) return;
  looking = setTimeout(() => {
    for (const { tree } of servers.values()) tree.note();
    lookMs = Math.min(lookMs * 2, longestLookMs);
    lookAgain();
  }, lookMs);
}

async function end(server: Server): Promise<void> {
  await (server.ending ??= endOnce(server));
}

async function endOnce({ mark, tree, closeMs, stdin }: Server): Promise<void> {
  // At the end of its stdin a server that keeps to the protocol ends by itself. That takes away the
  // only thing that leads to some of its children, so look before.
  await (nextLook ??= lookAnew());
  tree.note();
  tell({ type: "looked", mark });
  stdin?.destroy();
  await until(() => tree.isRootGone(), closeMs);
  if (!tree.isGone()) {
    tree.signal("SIGTERM");
    await until(() => tree.isGone(), closeMs);
  }
  await until(() => {
    tree.signal("SIGKILL");
    return tree.isGone();
  }, killForMs);
  servers.delete(mark);
  tell({ type: "gone", mark });
}

let nextLook: Promise<void> | undefined;

/** What comes after it is read anew, once for all servers that are ended at the same time. */
async function lookAnew(): Promise<void> {
  await new Promise(setImmediate);
  nextLook = undefined;
  table.forget();
}

/** The program has ended. It may have started servers that it did not come to name. */
async function endAll(): Promise<void> {
  await Promise.all([...servers.values()].map(end));
  if (process.platform !== "win32" && marks !== "")
    await endOnce({ mark: marks, tree: createProcessTree(marks, undefined), closeMs: unnamedMs });
  process.exit();
}

function tell(notice: SupervisorNotice): void {
  // The program may end at any time.
  if (process.connected) process.send?.(notice, undefined, undefined, () => undefined);
}

/** Windows knows a process's children as long as it lives itself, and has no polite signal. */
function windowsTree(pid: number): ProcessTree {
  const isGone = () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };
  return {
    note: () => undefined,
    isRootGone: isGone,
    isGone,
    signal() {
      spawnSync("taskkill", ["/PID", String(pid), "/T", "/F"], { windowsHide: true });
    },
  };
}

/** Looks again and again, ever less often; gives up after `ms`. */
async function until(isTrue: () => boolean, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  for (let pauseMs = firstPauseMs; !isTrue() && performance.now() < deadline;) {
    await new Promise((resolve) => {
      setTimeout(resolve, pauseMs);
    });
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}
