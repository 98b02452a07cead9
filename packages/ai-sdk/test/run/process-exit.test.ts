import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";

const program = fileURLToPath(new URL("../one-step-program.ts", import.meta.url));

test("a process ends right after dispose, with nothing left open and nothing unhandled", async () => {
  const server = await startNotebookServer();
  const dead = await startNotebookServer();
  dead.intercept((_, response) => void response.destroy());
  const child = spawn(process.execPath, [
    "--conditions=@durable-mcp/source",
    "--unhandled-rejections=strict",
    program,
    server.url,
    dead.url,
  ]);
  let stdout = "";
  let stderr = "";
  let disposedAt = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    disposedAt = Date.now();
  });
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number | null];

  expect(stderr).toBe("");
  expect(stdout).toBe("disposed\n");
  expect(code).toBe(0);
  expect(Date.now() - disposedAt).toBeLessThan(1_000);
  expect(server.log).toContain("GET");
  expect(server.waits).toEqual(["started"]);
  await vi.waitFor(async () => expect(await server.openConnections()).toBe(0));
}, 20_000);
