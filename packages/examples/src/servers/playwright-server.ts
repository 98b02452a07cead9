import type { ChildProcess } from "node:child_process";
import { startProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

interface PlaywrightServer {
  readonly url: string;
  readonly child: ChildProcess;
}

/**
 * Starts `@playwright/mcp`: each MCP session has a browser of its own.
 *
 * @param folder where it puts its files
 * @param chromium the path of the browser
 */
export async function startPlaywrightServer(
  folder: string,
  chromium: string,
): Promise<PlaywrightServer> {
  const port = await findFreePort();
  const child = startProgram(
    new URL("cli.js", import.meta.resolve("@playwright/mcp/package.json")),
    [
      ...["--port", String(port), "--host", "127.0.0.1", "--allowed-hosts", `127.0.0.1:${port}`],
      ...["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium],
      ...["--output-dir", folder, "--viewport-size", "800x400"],
    ],
    { cwd: folder, stdio: "ignore" },
  );
  await waitForPort(port);
  return { url: `http://127.0.0.1:${port}/mcp`, child };
}
