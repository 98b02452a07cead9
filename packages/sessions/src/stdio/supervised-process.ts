import { maxTimerMs, within } from "@durable-mcp/core/internal";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createProcessTree } from "./process-tree.ts";
import type { SupervisorNotice, SupervisorOrder, SupervisorReport } from "./supervisor.ts";

/** A variable in the environment of a server and of its children. Each server has its own value. */
const markName = "DURABLE_MCP_STDIO";

/** How a server ended, or why there never was one. */
export type ProcessEnd = (
  | SupervisorReport
  /** Something killed the supervisor. */
  | { readonly type: "supervisor-ended"; readonly signal: NodeJS.Signals | null }
) & {
  /** Whether it was ended because nothing can come from it any more. */
  readonly isMute?: boolean;
};

/**
 * How long the supervisor may take beyond the server's own time, in milliseconds. It repeats SIGKILL for
 * five seconds.
 */
const supervisorMs = 6_000;
/** How long to wait for a server's exit after the end of its stdout, in milliseconds. */
const exitMs = 250;
/** How long output is read after the supervisor's end, in milliseconds. It is there already. */
const outputMs = 500;

/** A server's process with its children. They live until `end`, or until this process ends. */
export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the server's own process has ended. Its children are ended next. */
  readonly exited: Promise<void>;
  /** How it ended. Settles when its children have ended too, and all output was read. */
  readonly ended: Promise<ProcessEnd>;
  /** Ends the server and its children, politely at first. Settles with `ended`. */
  end(): Promise<ProcessEnd>;
  /** Sets whether this process stays alive for the server. It does at first. */
  hold(isHeld: boolean): void;
}

/**
 * Starts a server under a supervisor of its own.
 *
 * @param server its `env` is set in addition to the few inherited variables, or in their place
 * @throws {Error} when the supervisor's program is not where it should be
 */
export function startSupervisedProcess(
  server: Omit<SupervisorOrder & { type: "start" }, "type" | "mark">,
): SupervisedProcess {
  const program = fileURLToPath(new URL("./supervisor.ts", import.meta.url));
  if (!existsSync(program)) {
    throw new Error(
      `The program that looks after stdio servers is not at ${program}. Keep the package whose function declared the server out of the bundle (mark it as external).`,
    );
  }
  const mark = randomUUID();
  const supervisor = spawn(process.execPath, [program, server.command], {
    // Not the server's environment, because its NODE_OPTIONS are for the server alone.
    env: inheritedEnvironment(),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
    detached: true,
    windowsHide: true,
  });
  const { stdin, stdout, stderr } = supervisor as ChildProcess & {
    stdin: Writable;
    stdout: Readable;
    stderr: Readable;
  };
  const streams = [stdin, stdout, stderr] as unknown as { ref(): void; unref(): void }[];

  const tell = (order: SupervisorOrder) => {
    // If the supervisor has ended, `ended` says why.
    if (supervisor.connected) supervisor.send(order, () => undefined);
  };
  // If the server has ended, `ended` says why.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);

  let isEnding = false;
  const hold = (isHeld: boolean) => {
    if (isEnding) return;
    for (const handle of [supervisor, supervisor.channel, ...streams]) {
      if (isHeld) handle?.ref();
      else handle?.unref();
    }
  };

  const watched = watchEnd(supervisor, `${markName}=${mark}`);
  const { exited } = watched;
  let isMute = false;
  const ended = watched.ended.then((how): ProcessEnd => (isMute ? { ...how, isMute } : how));

  const end = async () => {
    hold(true);
    isEnding = true;
    stdin.end();
    tell({ type: "end" });
    // A supervisor that hangs, or was stopped, would keep this process alive.
    const limitMs = Math.min(2 * server.closeMs + supervisorMs, maxTimerMs);
    const kill = setTimeout(() => supervisor.kill("SIGKILL"), limitMs);
    return await ended.finally(() => clearTimeout(kill));
  };
  const endMute = async () => {
    if (await within(exitMs, exited)) return;
    isMute = true;
    await end();
  };
  stdout.once("end", () => void endMute());

  tell({
    type: "start",
    ...server,
    env: { ...serverEnvironment(server.env), [markName]: mark },
    mark: `${markName}=${mark}`,
  });

  return {
    stdin,
    stdout,
    stderr,
    exited,
    ended,
    hold,
    end,
  };
}

function watchEnd(supervisor: ChildProcess, mark: string) {
  const exit = Promise.withResolvers<void>();
  const ended = new Promise<ProcessEnd>((resolve) => {
    let report: SupervisorReport | undefined;
    supervisor.on("message", (message: SupervisorNotice | SupervisorReport) => {
      exit.resolve();
      if (message.type !== "exited") report = message;
    });
    supervisor.on("error", (error: NodeJS.ErrnoException) => {
      resolve({ type: "not-started", reason: error.code ?? error.name });
    });
    supervisor.once("exit", (_code, signal) => {
      // A process that escaped may hold the pipes open for as long as it lives.
      setTimeout(() => setImmediate(() => closeOutput(supervisor)), outputMs).unref();
      if (report !== undefined || supervisor.pid === undefined) return;
      // Nobody else ends the processes that the supervisor leaves behind, and they hold the pipes open.
      createProcessTree(supervisor.pid, mark).signal("SIGKILL");
      resolve({ type: "supervisor-ended", signal });
    });
    supervisor.once("close", (_code, signal) => {
      resolve(report ?? { type: "supervisor-ended", signal });
    });
  });
  void ended.then(() => exit.resolve());
  return { exited: exit.promise, ended };
}

function closeOutput({ stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
}

/** The variables that a server inherits from this process, as in the protocol's own SDKs. */
const inherited =
  process.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
      ]
    : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/**
 * The part of this process's environment that is safe for a server: the paths of programs and homes.
 * The other variables may hold keys and tokens.
 */
function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => {
      const value = process.env[name];
      // Old shells export functions as such values, and run any value of that form.
      return value === undefined || value.startsWith("()") ? [] : [[name, value] as const];
    }),
  );
}

/** The whole environment of a server. A variable of the definition replaces an inherited one. */
function serverEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const environment = inheritedEnvironment();
  for (const [name, value] of Object.entries(own)) {
    // Windows ignores the case of names, and would take the variable that comes first.
    if (process.platform === "win32") delete environment[name.toUpperCase()];
    environment[name] = value;
  }
  return environment;
}
