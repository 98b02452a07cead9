import { type ChildProcess, fork } from "node:child_process";
import { compileCache, keepCompiled } from "../processes/compile-cache.ts";
import { programArguments } from "../processes/programs.ts";

/** A program in a process of its own, which talks in JSON. */
export interface ForkedProgram<TO, FROM> {
  send: (message: TO) => void;
  /** The next message; rejects when the process ends before. */
  receive: () => Promise<FROM>;
  /** Such as SIGSTOP and SIGCONT, or SIGTERM. */
  signal: (name: NodeJS.Signals) => void;
  /** Resolves to how it ended when it is gone. */
  ended: Promise<string>;
  /** `kill -9`; resolves to how it ended when it is gone. */
  kill: () => Promise<string>;
}

/** They end with this process. */
const living = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

/**
 * @param file a program of this folder, or any by its URL
 * @param own its arguments
 */
export function forkProgram<TO, FROM>(
  file: string | URL,
  own: readonly string[] = [],
): ForkedProgram<TO, FROM> {
  const args = programArguments(new URL(file, import.meta.url));
  const child = fork(args.pop()!, own, {
    execArgv: [...args, ...keepCompiled()],
    env: { ...process.env, ...compileCache, NODE_NO_WARNINGS: "1" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  living.add(child);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const received: FROM[] = [];
  const waiting: { resolve: (message: FROM) => void; reject: (error: Error) => void }[] = [];
  const ended = end(child).then((how) => {
    living.delete(child);
    for (const { reject } of waiting.splice(0)) reject(new Error(`${file}: ${how}\n${said}`));
    return how;
  });
  child.on("message", (message: FROM) => {
    const waiter = waiting.shift();
    if (waiter) waiter.resolve(message);
    else received.push(message);
  });
  return {
    send: (message) => void child.send(message as object),
    receive: () => {
      const message = received.shift();
      if (message !== undefined) return Promise.resolve(message);
      const { promise, resolve, reject } = Promise.withResolvers<FROM>();
      waiting.push({ resolve, reject });
      if (child.exitCode !== null || child.signalCode !== null) {
        reject(new Error(`${file} has ended\n${said}`));
      }
      return promise;
    },
    signal: (name) => void child.kill(name),
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      return await ended;
    },
  };
}

function end(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}
