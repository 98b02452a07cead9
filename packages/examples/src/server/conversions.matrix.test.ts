import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, describe, expect, test } from "vitest";
import { endProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";

const started: { child: ChildProcess; folder: string }[] = [];

afterEach(async () => {
  for (const { child, folder } of started.splice(0)) {
    await endProgram(child, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Starts a server in a folder of its own; `restart` kills it and starts it there again. */
async function startServer(file: string) {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-conversion-"));
  const port = await findFreePort();
  const program = fileURLToPath(new URL(file, import.meta.url));
  const run = async () => {
    const child = spawn(process.execPath, ["--conditions=@durable-mcp/source", program], {
      cwd: folder,
      env: { ...process.env, PORT: String(port), NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    started.push({ child, folder });
    await waitForPort(port);
    return child;
  };
  let child = await run();
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async restart() {
      await endProgram(child, "SIGKILL");
      child = await run();
    },
  };
}

async function connect(url: URL) {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

interface Caller {
  callTool: (call: { name: string; arguments: { item: string } }) => Promise<unknown>;
}

async function addItem(client: Caller, item: string): Promise<string> {
  const result = await client.callTool({ name: "add_item", arguments: { item } });
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join("\n");
}

describe.each(["v1"])("a server of SDK %s", (sdk) => {
  test("before: a restart ends the sessions", async () => {
    const server = await startServer(`convert-${sdk}-before.ts`);
    const client = await connect(server.url);
    expect(await addItem(client, "tea")).toBe("tea");
    await server.restart();
    await expect(addItem(client, "oats")).rejects.toThrow("Session not found");
    await client.close();
  });

  test("after: the session goes on", async () => {
    const server = await startServer(`convert-${sdk}-after.ts`);
    const client = await connect(server.url);
    expect(await addItem(client, "tea")).toBe("tea");
    await server.restart();
    expect(await addItem(client, "oats")).toBe("tea, oats");
    await client.close();
  });
});
