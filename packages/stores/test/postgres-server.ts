import { type ChildProcess, execFileSync, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { findProgram } from "./find-program.ts";
import { postgresUser } from "./postgres-user.ts";
import { type DatabaseServer, findFreePort, killServer, startServer } from "./start-server.ts";

const found = findProgram("postgres", ["/usr/lib/postgresql/*/bin"]);
/** With `initdb` beside it; what is on the PATH may be a link. */
const program = found === undefined ? undefined : realpathSync(found);

/** Why there can be no PostgreSQL; `undefined` when there can. */
export const postgresUnavailable =
  program === undefined ? "there is no postgres on the PATH or in /usr/lib/postgresql" : undefined;

/**
 * Starts a PostgreSQL whose database sorts as people do, not as bytes do.
 *
 * @param settings as `name=value`
 */
export async function startPostgres(...settings: readonly string[]): Promise<DatabaseServer> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-postgres-"));
  const port = await findFreePort();
  const asUser = serverUser();
  if (asUser !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  const options = { ...asUser, cwd: folder };
  const data = join(folder, "data");
  const initialize = (...locale: string[]) =>
    spawnSync(
      join(dirname(program!), "initdb"),
      ["-D", data, "-U", postgresUser, "-A", "trust", "-E", "UTF8", "-N", ...locale],
      { ...options, encoding: "utf8" },
    );
  // Before PostgreSQL 15 there was no --icu-locale.
  let done = initialize("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en");
  if (done.status !== 0) done = initialize("--locale=C.UTF-8");
  if (done.status !== 0) throw new Error(`initdb failed: ${done.stderr}`);

  const args = [
    ...["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
    // A process that is killed loses nothing by this, only a machine would.
    ...["-c", "fsync=off"],
    ...settings.flatMap((setting) => ["-c", setting]),
  ];
  let child: ChildProcess | undefined;
  const server = {
    port,
    async start() {
      child = await startServer(program!, args, port, options);
      await untilItAnswers(port);
    },
    async kill() {
      if (child === undefined) return;
      const children = childrenOf(child.pid!);
      await killServer(child);
      for (const pid of children) killIfThere(pid);
      // A new server refuses to start while one of the old one's processes is at its memory.
      while (children.some(isThere)) await sleep(10);
    },
    async remove() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** PostgreSQL refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      return { uid: idOf("-u", name), gid: idOf("-g", name) };
    } catch {
      // The next one then.
    }
  }
  throw new Error("There is neither a user postgres nor a user nobody to run PostgreSQL as.");
}

/** It listens before it is ready, and longer so after a crash. */
async function untilItAnswers(port: number): Promise<void> {
  for (const deadline = Date.now() + 30_000; ;) {
    const client = new pg.Client({
      host: "127.0.0.1",
      port,
      user: postgresUser,
      database: "postgres",
    });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return list.split(" ").filter(Boolean).map(Number);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went with its parent.
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function idOf(flag: "-u" | "-g", name: string): number {
  return Number(
    execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
}
