/**
 * Runs one stdio server, and ends all its processes even if the program that uses it is killed. The
 * supervisor is a process with a session of its own. So Ctrl-C or kill -9 may end the program, and the
 * supervisor lives long enough to clean up. The server writes to this process's stdout and stderr,
 * which are pipes to the program. This process passes its own stdin on to the server. The IPC channel to
 * the program is the lifeline: when it closes, the program has ended.
 *
 * Started by `startSupervisedProcess`, by file name. Imports nothing but siblings and Node.
 */
import { type ChildProcess, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import spawn from "cross-spawn";
import { createProcessTree, type ProcessTree } from "./process-tree.ts";

/** A message from the program to its supervisor. */
export type SupervisorOrder =
  | {
      readonly type: "start";
      readonly command: string;
      readonly args: readonly string[];
      /** The whole environment of the server, the mark included. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
      /** `NAME=value`, which marks the processes of this server. */
      readonly mark: string;
      /** How long the server has to end by itself, and again after SIGTERM, in milliseconds. */
      readonly closeMs: number;
    }
  | { readonly type: "end" };

/** Sent by a supervisor as soon as the server's own process has ended. */
export interface SupervisorNotice {
  readonly type: "exited";
}

/** Sent by a supervisor when all the server's processes have ended. */
export type SupervisorReport =
  | { readonly type: "not-started"; readonly reason: string }
  | {
      readonly type: "ended";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** The time between two looks at the server's processes, in milliseconds. It grows from look to look. */
const firstLookMs = 50;
const longestLookMs = 1_000;
/** How long SIGKILL is repeated for processes that it did not end at once, in milliseconds. */
const killForMs = 5_000;
const firstPauseMs = 5;
const longestPauseMs = 100;

/** Settles when the program wants the server to end, or has ended itself. */
const end = Promise.withResolvers<void>();
let isStarted = false;

process.on("message", (order: SupervisorOrder) => {
  if (order.type === "end") end.resolve();
  else if (!isStarted) void run(order);
});
process.on("disconnect", () => {
  end.resolve();
  if (!isStarted) process.exit();
});
process.on("SIGTERM", () => end.resolve());
// These signals are for the program. It decides when the server ends.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);

type StartOrder = SupervisorOrder & { type: "start" };

function start({ command, args, env, cwd }: StartOrder): ChildProcess | undefined {
  try {
    const stdio = ["pipe", "inherit", "inherit"] as const;
    return spawn(command, args, { cwd, env, stdio: [...stdio], windowsHide: true });
  } catch (error) {
    // Most failures are events of the child, but not all.
    const { code, name } = error as NodeJS.ErrnoException;
    tell({ type: "not-started", reason: code ?? name }, () => process.exit());
    return undefined;
  }
}

async function run(order: StartOrder): Promise<void> {
  const { mark, closeMs } = order;
  isStarted = true;
  const child = start(order);
  if (child === undefined) return;
  closeOwnStdout();
  // The program may end at any time. Other code reports it.
  process.stdin.on("error", () => undefined);
  // A server that reads nothing any more can do nothing.
  child.stdin?.on("error", () => end.resolve());
  if (child.stdin) process.stdin.pipe(child.stdin, { end: false });
  const tree =
    process.platform === "win32" ? windowsTree(child) : createProcessTree(process.pid, mark);
  let isOver = false;
  const exit = () => {
    isOver = true;
    tell({ type: "exited" });
  };
  const over = new Promise<SupervisorReport>((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      resolve({ type: "not-started", reason: error.code ?? error.name });
    });
    child.on("exit", (exitCode, signal) => resolve({ type: "ended", exitCode, signal }));
  });
  void over.then(exit);

  let lookMs = firstLookMs;
  const look = () => {
    tree.note();
    lookMs = Math.min(lookMs * 2, longestLookMs);
    looking = setTimeout(look, lookMs);
  };
  let looking = setTimeout(look, lookMs);
  await Promise.race([over, end.promise]);
  clearTimeout(looking);
  // At the end of its stdin a server that keeps to the protocol ends by itself. That takes away the
  // only thing that leads to some of its children, so look before.
  tree.note();
  process.stdin.unpipe();
  child.stdin?.end();
  await until(() => isOver, closeMs);
  if (!tree.isGone()) {
    tree.signal("SIGTERM");
    await until(() => tree.isGone(), closeMs);
  }
  await until(() => {
    tree.signal("SIGKILL");
    return tree.isGone();
  }, killForMs);

  tell(await over, () => process.exit());
}

/** So that the program sees the end of stdout when the server's processes have closed theirs. */
function closeOwnStdout(): void {
  if (process.platform === "win32") return;
  closeSync(1);
  // It gets the lowest free number, so that nothing else becomes stdout.
  openSync(devNull, "w");
}

function tell(message: SupervisorNotice | SupervisorReport, then?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, then);
  else then?.();
}

/** Windows knows a process's children as long as it lives itself, and has no polite signal. */
function windowsTree(child: ChildProcess): ProcessTree {
  return {
    note: () => undefined,
    isGone: () => child.pid === undefined || child.exitCode !== null,
    signal() {
      spawnSync("taskkill", ["/PID", String(child.pid), "/T", "/F"], { windowsHide: true });
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
