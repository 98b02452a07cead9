import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../test/bundle-worker.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";
import {
  type DatabaseServer,
  findFreePort,
  killServer,
  startServer,
} from "../test/start-server.ts";
import type { Counted, CountInStore } from "../test/store-worker.ts";

/** Path of Cloudflare's runtime. It is large, so CI installs it and others may. */
const workerd = process.env["WORKERD"] || undefined;
if (workerd === undefined) console.warn("skipped: stores on workerd: WORKERD names no binary");

let folder: string;
let port: number;
let worker: Awaited<ReturnType<typeof startServer>>;

describe.skipIf(workerd === undefined)("on Cloudflare's workerd, with nodejs_compat", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "durable-mcp-store-worker-"));
    port = await findFreePort();
    const code = await bundleWorker(new URL("../test/store-worker.ts", import.meta.url));
    writeFileSync(join(folder, "worker.js"), code);
    const config = join(folder, "config.capnp");
    writeFileSync(config, workerdConfig(port));
    worker = await startServer(workerd!, ["serve", config], port);
  });
  afterAll(async () => {
    if (worker !== undefined) await killServer(worker);
    rmSync(folder, { recursive: true, force: true });
  });

  const databases = [
    { kind: "postgres", unavailable: postgresUnavailable, start: () => startPostgres() },
    { kind: "redis", unavailable: redisUnavailable, start: () => startRedis() },
  ] as const;
  for (const { kind, unavailable, start } of databases) {
    it.skipIf(unavailable !== undefined)(
      `${kind} keeps a value from request to request`,
      async () => {
        const server: DatabaseServer = await start();
        try {
          const use: CountInStore = { kind, port: server.port };
          const ask = async () => {
            const body = JSON.stringify(use);
            const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body });
            return (await response.json()) as Counted;
          };
          expect(await ask()).toEqual({ count: 1, stale: false, listed: 1, sealed: 1 });
          expect(await ask()).toEqual({ count: 2, stale: false, listed: 1, sealed: 2 });
        } finally {
          await server.remove();
        }
      },
    );
  }
});

const workerdConfig = (at: number) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${at}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
  globalOutbound = "internet",
);
`;
