import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** Path of Cloudflare's workerd, from `WORKERD`. It is large, so CI installs it and others may. */
export function findWorkerd(): string | undefined {
  return process.env["WORKERD"] || undefined;
}

/** The edge worker fixture, bundled from source for a runtime without any Node API. */
export async function startEdgeWorker(workerd: string): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-workerd-"));
  await build({
    input: fileURLToPath(new URL("../fixtures/edge-worker.ts", import.meta.url)),
    platform: "browser",
    resolve: { conditionNames: ["@durable-mcp/source", "workerd", "worker", "browser", "import"] },
    output: { file: join(folder, "worker.js"), format: "esm", codeSplitting: false },
    logLevel: "silent",
  });
  return await startServerProcess({
    name: "workerd",
    program: workerd,
    args: (port) => {
      const config = join(folder, "config.capnp");
      writeFileSync(config, workerdConfig(port));
      return ["serve", config];
    },
    onStop: () => rmSync(folder, { recursive: true, force: true }),
  });
}

const workerdConfig = (port: number) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  globalOutbound = "internet",
);
`;
