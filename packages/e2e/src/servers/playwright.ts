import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageBin } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** `@playwright/mcp` with a browser per MCP session, which ends with the server. */
export function startPlaywrightServer(chromium: string): Promise<TestServer> {
  const outputFolder = mkdtempSync(join(tmpdir(), "durable-mcp-playwright-"));
  return startServerProcess({
    name: "@playwright/mcp",
    cwd: outputFolder,
    args: (port) => [
      packageBin("@playwright/mcp"),
      ...["--port", String(port), "--host", "127.0.0.1", "--allowed-hosts", `127.0.0.1:${port}`],
      ...["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium],
      ...["--output-dir", outputFolder],
    ],
    onStop: () => rmSync(outputFolder, { recursive: true, force: true, maxRetries: 5 }),
  });
}
