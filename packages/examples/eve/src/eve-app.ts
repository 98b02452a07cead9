import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "eve/client";
import { atExit } from "../../src/programs/at-exit.ts";
import { endProgram } from "../../src/programs/start-program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const entry = `${root}.output/server/index.mjs`;
// Under `NODE_ENV=test` eve answers in the place of its model.
const always = { NODE_ENV: "production", EVE_TELEMETRY_DISABLED: "1" };

/**
 * `eve build`. The sandbox is left out: no tool of this agent uses it.
 *
 * @param env eve writes the URL of its own connection into what it builds
 */
export async function buildEve(env: NodeJS.ProcessEnv): Promise<void> {
  const eve = fileURLToPath(new URL("../../bin/eve.js", import.meta.resolve("eve")));
  const build = spawn(
    process.execPath,
    [...process.execArgv, eve, "build", "--skip-sandbox-prewarm"],
    { cwd: root, env: { ...process.env, ...always, ...env }, stdio: "pipe" },
  );
  let said = "";
  for (const stream of [build.stdout, build.stderr]) stream.on("data", (text) => (said += text));
  const [exitCode] = (await once(build, "close")) as [number | null];
  if (exitCode !== 0) throw new Error(`eve build ended with ${exitCode}: ${said}`);
}

export interface EveApp {
  readonly client: Client;
  /** Starts the server, the process that `eve start` starts, and gives its id. */
  start(env: NodeJS.ProcessEnv): Promise<number>;
  /** `kill -9`, once eve has written down what it did. */
  kill(): Promise<void>;
}

/** @param folder the working directory of the server: eve keeps its runs there, in `.eve` */
export function createEveApp(
  port: number,
  password: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): EveApp {
  const url = `http://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;
  atExit(() => server?.kill("SIGKILL"));
  return {
    client: new Client({ host: url, auth: { basic: { username: "ada", password } } }),
    async start(more) {
      const settings = { HOST: "127.0.0.1", PORT: String(port), DEMO_PASSWORD: password };
      server = spawn(process.execPath, [...process.execArgv, entry], {
        cwd: folder,
        env: { ...process.env, ...always, ...settings, ...env, ...more },
        stdio: ["ignore", "ignore", "inherit"],
      });
      await untilHealthy(url, server);
      return server.pid!;
    },
    async kill() {
      await untilSettled(folder);
      await endProgram(server!, "SIGKILL");
    },
  };
}

async function untilHealthy(url: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await fetch(`${url}/eve/v1/health`).catch(() => undefined);
    if (answer?.ok) return;
    if (server.exitCode !== null || Date.now() > deadline) throw new Error("eve did not start.");
    await sleep(50);
  }
}

/** A process that goes in the moment after its answer leaves an eve 0.80.1 session that takes no more messages. */
async function untilSettled(folder: string): Promise<void> {
  let before = -1;
  for (;;) {
    const files = readdirSync(`${folder}/.eve/.workflow-data/events`).length;
    if (files === before) return;
    before = files;
    await sleep(700);
  }
}
