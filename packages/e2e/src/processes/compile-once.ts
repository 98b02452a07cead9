import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Processes that the tests start compile what they load once for a run, in a folder that is gone afterwards. */
export default function compileOnce(): void {
  // Another project of the same run has done it.
  if (process.env["NODE_COMPILE_CACHE"] !== undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = folder;
  // Not sooner: the processes in which tests run write to it when they end.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
}
