import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { createProcessTable, createProcessTree } from "./process-tree.ts";
import { inheritedEnvironment } from "./inherited-environment.ts";
import type { SupervisorNotice, SupervisorOrder } from "./supervisor.ts";

/** Something killed the supervisor, and its servers were ended with it. */
export interface SupervisorEnd {
  readonly type: "supervisor-ended";
  readonly signal: NodeJS.Signals | null;
}

interface Watched {
  readonly pid?: number;
  /** Called when the server may read the end of its stdin. */
  readonly onLooked?: () => void;
  readonly onGone: (end?: SupervisorEnd) => void;
}

/** Of all servers of this process, while there are any. */
let current: ReturnType<typeof startSupervisor> | undefined;

/**
 * Supervises the next server. The supervisor's process begins with the first server, and ends with the last.
 *
 * @throws {Error} when the supervisor's program is not where it should be
 */
export function openSupervision() {
  const supervisor = (current ??= startSupervisor());
  const mark = supervisor.nextMark();
  const gone = Promise.withResolvers<SupervisorEnd | undefined>();
  const { resolve: onGone } = gone;
  supervisor.note(mark, { onGone });
  return {
    /** The server's own, for its environment. */
    mark,
    /** Settles when all its processes have ended. */
    gone: gone.promise,
    /** @param onLooked see `end` */
    watch({ pid, stdin }: ChildProcess, closeMs: number, onLooked: () => void): void {
      supervisor.note(mark, { pid: pid!, onLooked, onGone });
      supervisor.tell({ type: "watch", mark, pid: pid!, closeMs }, stdin as unknown as Socket);
    },
    /** Ends the server. When its processes are known, `onLooked` of `watch` has to close its stdin. */
    end: () => supervisor.tell({ type: "end", mark }),
    /** Sets whether this process stays alive until it is gone. */
    hold: (isHeld: boolean) => supervisor.hold(mark, isHeld),
    /** It was not started. */
    forget: () => supervisor.release(mark),
    /** A supervisor that hangs, or was stopped, would keep this process alive. Its servers end with it. */
    kill: supervisor.kill,
  };
}

function startSupervisor() {
  const program = fileURLToPath(new URL("./supervisor.ts", import.meta.url));
  if (!existsSync(program)) {
    throw new Error(
      `The program that looks after stdio servers is not at ${program}. Keep the package whose function declared the server out of the bundle (mark it as external).`,
    );
  }
  const marks = randomUUID();
  const supervisor = spawn(process.execPath, [program, marks], {
    // Not a server's environment, because its NODE_OPTIONS are for the server alone.
    env: inheritedEnvironment(),
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    detached: true,
    windowsHide: true,
  });
  const servers = new Map<string, Watched>();
  const held = new Set<string>();
  let count = 0;

  const hold = (mark: string, isHeld: boolean) => {
    if (isHeld && servers.has(mark)) held.add(mark);
    else held.delete(mark);
    for (const handle of [supervisor, supervisor.channel])
      if (held.size > 0) handle?.ref();
      else handle?.unref();
  };
  const release = (mark: string, end?: SupervisorEnd) => {
    servers.get(mark)?.onGone(end);
    servers.delete(mark);
    hold(mark, false);
    if (servers.size > 0) return;
    if (current === own) current = undefined;
    if (supervisor.connected) supervisor.disconnect();
  };
  const over = (signal: NodeJS.Signals | null) => {
    if (current === own) current = undefined;
    const table = createProcessTable();
    for (const [mark, { pid }] of servers) {
      // Nobody else ends the processes that the supervisor leaves behind.
      if (pid !== undefined) createProcessTree(mark, pid, table).signal("SIGKILL");
      release(mark, { type: "supervisor-ended", signal });
    }
  };
  supervisor.on("message", ({ type, mark }: SupervisorNotice) => {
    if (type === "looked") servers.get(mark)?.onLooked?.();
    else release(mark);
  });
  supervisor.on("error", () => over(null));
  supervisor.once("exit", (_code, signal) => over(signal));
  hold("", false);
  const own = {
    // No mark is the beginning of another.
    nextMark: () => `${marks}.${(count += 1)}.`,
    note: (mark: string, watched: Watched) => void servers.set(mark, watched),
    // If the supervisor has ended, that is told.
    tell(order: SupervisorOrder, stdin?: Socket): void {
      if (!supervisor.connected) return;
      const handle = process.platform === "win32" ? undefined : stdin;
      supervisor.send(order, handle, { keepOpen: true }, () => undefined);
    },
    hold,
    release,
    kill: () => void supervisor.kill("SIGKILL"),
  };
  return own;
}
