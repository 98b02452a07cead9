import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { createGateway } from "@durable-mcp/gateway";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { freePort } from "../../../e2e/src/processes/free-port.ts";
import { packageBin } from "../../../e2e/src/processes/package-bin.ts";

// What stands before the counting program: "gateway", "shared", "mcp-proxy" or "supergateway".
const [, , kind = "gateway"] = process.argv;
const program = [process.execPath, fileURLToPath(new URL("counting-program.ts", import.meta.url))];

async function serveOwn(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const [command = "", ...args] = program;
  const gateway = createGateway({
    connections: { mcp: defineMcpStdioConnection({ command, args, description: "A counter." }) },
    store: createSqliteStore({ path: join(folder, "gateway.db") }),
    processes: "one",
    sharedPrograms: kind === "shared" ? ["mcp"] : [],
    principal: () => ({ type: "app" }),
  });
  const server = createServer(toNodeHandler(gateway.fetch));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function startOther(): Promise<number> {
  const port = await freePort();
  const supergateway = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"];
  const args =
    kind === "mcp-proxy"
      ? ["--host", "127.0.0.1", "--port", String(port), "--server", "stream", "--", ...program]
      : ["--stdio", program.join(" "), ...supergateway, "--port", String(port)];
  const child = spawn(process.execPath, [packageBin(kind), ...args], {
    stdio: "ignore",
    detached: true,
  });
  process.on("exit", () => process.kill(-child.pid!, "SIGKILL"));
  for (let isUp = false; !isUp;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    isUp = await fetch(`http://127.0.0.1:${port}/mcp`).then(
      () => true,
      () => false,
    );
  }
  return port;
}

process.send?.(await (kind === "gateway" || kind === "shared" ? serveOwn() : startOther()));
process.on("disconnect", () => process.exit());
