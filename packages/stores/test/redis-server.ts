import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./find-program.ts";
import { type DatabaseServer, findFreePort, killServer, startServer } from "./start-server.ts";

const program = findProgram("redis-server");

/** Why there can be no Redis; `undefined` when there can. */
export const redisUnavailable =
  program === undefined ? "there is no redis-server on the PATH" : undefined;

/** Starts a Redis that hands everything to the system's files before it answers. */
export async function startRedis(...settings: readonly string[]): Promise<DatabaseServer> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-redis-"));
  const port = await findFreePort();
  const args = [
    ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
    ...["--appendonly", "yes", "--appendfsync", "no", "--save", ""],
    ...settings,
  ];
  let child: ChildProcess | undefined;
  const server = {
    port,
    async start() {
      child = await startServer(program!, args, port);
    },
    async kill() {
      if (child) await killServer(child);
    },
    async remove() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
