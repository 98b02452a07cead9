import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { packageBin } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

const browserNames = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "chrome",
];

/** Path of a Chromium on this machine, from `CHROMIUM_PATH` or `PATH`. */
export function findChromium(): string | undefined {
  const named = process.env["CHROMIUM_PATH"];
  if (named) return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return browserNames
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

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
