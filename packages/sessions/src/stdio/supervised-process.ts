import { maxTimerMs, within } from "@durable-mcp/core/internal";
import type { ChildProcess, ChildProcessWithoutNullStreams } from "node:child_process";
import { PassThrough, type Readable, type Writable } from "node:stream";
import spawn from "cross-spawn";
import { markName } from "./process-tree.ts";
import { serverEnvironment } from "./inherited-environment.ts";
import { openSupervision, type SupervisorEnd } from "./supervisor-link.ts";

/** How a server ended, or why there never was one. */
export type ProcessEnd = (
  | { readonly type: "not-started"; readonly reason: string }
  | {
      readonly type: "ended";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  | SupervisorEnd
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
/** How long output is read after the end of all processes, in milliseconds. It is there already. */
const outputMs = 500;

/** What is started. */
interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** In addition to the few inherited variables, or in their place. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** How long it has to end by itself, and again after SIGTERM, in milliseconds. */
  readonly closeMs: number;
}

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
 * Starts a server under the supervisor of this process.
 *
 * @throws {Error} when the supervisor's program is not where it should be
 */
export function startSupervisedProcess(server: ServerProgram): SupervisedProcess {
  const supervision = openSupervision();
  const { child, exit, closed } = start(server, supervision.mark);
  const { stdin, stdout, stderr } = child;
  // If the server has ended, `ended` says why. One that reads nothing any more can do nothing.
  stdin.on("error", () => supervision.end());
  for (const stream of [stdout, stderr]) stream.on("error", () => undefined);

  if (child.pid === undefined) supervision.forget();
  else supervision.watch(child, server.closeMs, () => void stdin.end());
  void exit.then(() => supervision.end());

  const exited = Promise.race([exit, supervision.gone]).then(() => undefined);
  let isMute = false;
  const ended = (async (): Promise<ProcessEnd> => {
    const how = (await supervision.gone) ?? (await exit);
    // A process that escaped may hold the pipes open for as long as it lives.
    if (how.type === "ended" && !(await within(outputMs, closed)))
      for (const stream of [stdout, stderr]) stream.destroy();
    return isMute ? { ...how, isMute } : how;
  })();

  let isEnding = false;
  const hold = (isHeld: boolean) => {
    if (isEnding) return;
    for (const handle of [child, stdin, stdout, stderr] as Partial<ChildProcess>[])
      if (isHeld) handle.ref?.();
      else handle.unref?.();
    supervision.hold(isHeld);
  };
  hold(true);
  const end = async () => {
    hold(true);
    isEnding = true;
    supervision.end();
    const limitMs = Math.min(2 * server.closeMs + supervisorMs, maxTimerMs);
    const kill = setTimeout(supervision.kill, limitMs);
    return await ended.finally(() => clearTimeout(kill));
  };
  const endMute = async () => {
    if (await within(exitMs, exited)) return;
    isMute = true;
    await end();
  };
  stdout.once("end", () => void endMute());

  return { stdin, stdout, stderr, exited, ended, hold, end };
}

type OwnEnd = Exclude<ProcessEnd, SupervisorEnd>;

function start({ command, args, env, cwd }: ServerProgram, mark: string) {
  const exit = Promise.withResolvers<OwnEnd>();
  const closed = Promise.withResolvers<void>();
  const notStarted = ({ code, name }: NodeJS.ErrnoException) =>
    exit.resolve({ type: "not-started", reason: code ?? name });
  const parts = { exit: exit.promise, closed: closed.promise };
  try {
    const child = spawn(command, args, {
      ...{ cwd, env: { ...serverEnvironment(env), [markName]: mark }, stdio: "pipe" },
      // A session of its own, which is not for Windows: there it would get a window.
      ...{ detached: process.platform !== "win32", windowsHide: true },
    }) as ChildProcessWithoutNullStreams;
    child.on("error", notStarted);
    child.once("exit", (exitCode, signal) => exit.resolve({ type: "ended", exitCode, signal }));
    child.once("close", () => closed.resolve());
    return { child, ...parts };
  } catch (error) {
    // Most failures are events of the child, but not all.
    notStarted(error as NodeJS.ErrnoException);
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    return { child: { pid: undefined, stdin, stdout, stderr }, ...parts };
  }
}
