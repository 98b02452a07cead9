import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFile } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { extraPackages } from "./extra-packages.ts";

/** The packages carry binaries for Linux x64 alone. */
export const nativeUnavailable =
  process.platform === "linux" && process.arch === "x64"
    ? undefined
    : "the binary is for Linux x64";

/** A Go server on the official SDK: a scheduler with an SQLite file. */
export function startCronServer(): Promise<TestServer> {
  const home = temporaryHome();
  return startServerProcess({
    name: "mcp-cron",
    program: binary("mcp-cron-linux-amd64", "bin/mcp-cron"),
    args: (port) => [
      ...["--transport", "http", "--address", "127.0.0.1", "--port", String(port)],
      ...["--db-path", join(home.path, "cron.db"), "--mcp-config-path", join(home.path, "none")],
    ],
    env: () => ({ HOME: home.path }),
    onStop: home.remove,
  });
}

/** A Rust server on `rmcp`: calendar arithmetic. */
export function startCortexServer(): Promise<TestServer> {
  const home = temporaryHome();
  return startServerProcess({
    name: "cortex-mcp",
    program: binary("@temporal-cortex/cortex-mcp-linux-x64", "bin/cortex-mcp"),
    args: () => [],
    env: (port) => ({ HOME: home.path, HTTP_PORT: String(port), HTTP_HOST: "127.0.0.1" }),
    onStop: home.remove,
  });
}

/** A Go server on `mark3labs/mcp-go`. The Nomad cluster that it asks is a stand-in of ours. */
export async function startNomadServer(): Promise<TestServer> {
  const cluster = createServer((request, response) => {
    const job = /^\/v1\/job\/([^/?]+)/.exec(request.url ?? "")?.[1];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(job === undefined ? "127.0.0.1:4647" : { ID: job, Name: job }));
  });
  await new Promise<void>((resolve) => cluster.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
  return startServerProcess({
    name: "mcp-nomad",
    program: binary("@kocierik/mcp-nomad-linux-x64", "bin/mcp-nomad"),
    args: (port) => ["-transport", "streamable-http", "-port", String(port)],
    env: () => ({ NOMAD_ADDR: address }),
    onStop: () => {
      cluster.closeAllConnections();
      cluster.close();
    },
  });
}

function binary(name: string, path: string): string {
  const file = packageFile(name, path, extraPackages);
  chmodSync(file, 0o755); // some are published without the bit
  return file;
}

function temporaryHome(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "durable-mcp-home-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
