import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./find-program.ts";
import { postgresUser } from "./postgres-user.ts";
import { findFreePort, killServer, startServer } from "./start-server.ts";

const program = findProgram("pgbouncer", ["/usr/sbin"]);

/** Why there can be no PgBouncer; `undefined` when there can. */
export const pgBouncerUnavailable =
  program === undefined ? "there is no pgbouncer on the PATH or in /usr/sbin" : undefined;

/** Starts a PgBouncer before the server at a port. It never runs as root. */
export async function startPgBouncer(
  serverPort: number,
  mode: "transaction" | "session" = "transaction",
): Promise<{ readonly port: number; readonly remove: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-pgbouncer-"));
  const port = await findFreePort();
  const settings = {
    ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: folder },
    ...{ auth_type: "any", pool_mode: mode, logfile: join(folder, "log") },
    ...{ server_login_retry: 1, query_wait_timeout: 5 },
  };
  const database = `* = host=127.0.0.1 port=${serverPort} user=${postgresUser}`;
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, ["[databases]", database, "[pgbouncer]", ...lines, ""].join("\n"));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (isRoot) for (const path of [folder, file]) chownSync(path, user.uid!, user.gid!);
  const child = await startServer(program!, [file], port, { ...user, cwd: folder });
  return {
    port,
    async remove() {
      await killServer(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(option: "-u" | "-g"): number {
  return Number(execFileSync("id", [option, "nobody"], { encoding: "utf8" }));
}
