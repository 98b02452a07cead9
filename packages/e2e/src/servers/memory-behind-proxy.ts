import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageBin } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

/**
 * `mcp-proxy` in front of `@modelcontextprotocol/server-memory`, a stdio server. It serves both eras.
 * The graph is a file, which all sessions share and which outlives a restart.
 */
export function startMemoryBehindProxy(): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-memory-"));
  return startServerProcess({
    name: "mcp-proxy + server-memory",
    args: (port) => [
      packageBin("mcp-proxy"),
      ...["--port", String(port), "--host", "127.0.0.1", "--server", "stream", "--"],
      ...[process.execPath, packageBin("@modelcontextprotocol/server-memory")],
    ],
    env: () => ({ MEMORY_FILE_PATH: join(folder, "memory.jsonl") }),
    onStop: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  });
}
