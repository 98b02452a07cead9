import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";

/** A new folder that is gone when this process has ended. */
export function createTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-demo-"));
  atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
