/** `node --conditions=@durable-mcp/source killed.mjs`: kills a worker in the middle of a call, and prints what the server has done. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFaultyServer } from "@durable-mcp/testing";

for (const mark of ["", "mark"]) {
  const begun = [];
  const order = async ({ item }) => {
    begun.push(item);
    // The worker is killed meanwhile; the server works on.
    if (item === "milk" && begun.length === 2) worker.kill("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 200));
    return `Ordered ${item}.`;
  };
  const server = await createFaultyServer({ era: "2025-11-25", tools: { order } });
  const folder = mkdtempSync(join(tmpdir(), "mastra-"));
  const start = () => {
    const program = join(import.meta.dirname, "workflow.mjs");
    const args = ["--conditions=@durable-mcp/source", program, "run-1", server.url, folder, mark];
    return spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  };
  let worker = start();
  await once(worker, "exit");
  worker = start();
  await once(worker, "exit");
  const ledger = server.ledger.map(({ input }) => input.item);
  const made = server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;
  console.log(`${mark || "no mark"}: ${ledger.join(", ")}; ${made} initialize`);
  await server.close();
  rmSync(folder, { recursive: true });
}
process.exit();
