import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type CallOutcome, callEcho } from "./call-outcome.ts";
import { clients } from "./clients.ts";
import { type EchoServer, startEchoServer } from "./echo-server.ts";

/** Of the twenty calls of two processes. */
export interface AtOnce {
  readonly right: number;
  /** Got the other process's answer. */
  readonly crossed: number;
  readonly failed: number;
  readonly hung: number;
}

const program = fileURLToPath(new URL("caller-program.ts", import.meta.url));

/** Two processes call at once in the session of an earlier one; `undefined` where a client cannot go on with it. */
export async function callAtOnce(name: string): Promise<AtOnce | undefined> {
  return await withServer(async ({ url }) => {
    const first = await clients[name]!(url, undefined);
    await callEcho(first, "first");
    const saved = await first.close();
    if (saved === undefined) return undefined;
    const args = [program, name, url, JSON.stringify(saved)];
    const flags = [...process.execArgv, "--disable-warning=ExperimentalWarning"];
    const processes = [0, 1].map(() =>
      spawn(process.execPath, [...flags, ...args], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const lines = processes.map(linesOf);
    await Promise.all(lines.map((next) => next()));
    for (const { stdin } of processes) stdin.write("go\n");
    const [one, other] = await Promise.all(
      lines.map(async (next) => JSON.parse(await next()) as AtOnce),
    );
    const sum = (kind: keyof AtOnce) => one![kind] + other![kind];
    return {
      ...{ right: sum("right"), crossed: sum("crossed") },
      ...{ failed: sum("failed"), hung: sum("hung") },
    };
  });
}

function linesOf(child: ChildProcess): () => Promise<string> {
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`A caller ended with ${child.exitCode}.`);
    return value;
  };
}

/** One call, how often the tool ran for it, and the call after it. */
export interface AfterLoss {
  readonly call: CallOutcome;
  readonly runs: number;
  readonly next: CallOutcome;
}

/** The server forgets the session of a client that is connected. */
export async function callAfterLoss(name: string): Promise<AfterLoss> {
  return await callTwice(name, (server) => server.forget());
}

/**
 * The tool runs, and the connection breaks before its answer.
 *
 * @param isJson the answer is one JSON body, of which nothing has come; else a stream, of which the headers have
 */
export async function callWithoutAnswer(name: string, isJson: boolean): Promise<AfterLoss> {
  return await callTwice(name, (server) => server.breakNextAnswer(), isJson);
}

async function callTwice(name: string, interfere: (server: EchoServer) => void, isJson = false) {
  return await withServer(async (server) => {
    const client = await clients[name]!(server.url, undefined);
    await callEcho(client, "before");
    interfere(server);
    const before = server.runs();
    const call = await callEcho(client, "call");
    const runs = server.runs() - before;
    const next = await callEcho(client, "next");
    return { call, runs, next };
  }, isJson);
}

/** A later process goes on with a session that the server has forgotten; `undefined` where a client cannot. */
export async function resumeAfterLoss(name: string): Promise<CallOutcome | undefined> {
  return await withServer(async (server) => {
    const first = await clients[name]!(server.url, undefined);
    await callEcho(first, "first");
    const saved = await first.close();
    if (saved === undefined) return undefined;
    server.forget();
    try {
      const client = await clients[name]!(server.url, JSON.parse(JSON.stringify(saved)));
      return await callEcho(client, "call");
    } catch (error) {
      return { kind: "failed", message: (error as Error).message };
    }
  });
}

async function withServer<T>(use: (server: EchoServer) => Promise<T>, isJson = false): Promise<T> {
  const server = await startEchoServer(isJson);
  try {
    return await use(server);
  } finally {
    server.close();
  }
}
