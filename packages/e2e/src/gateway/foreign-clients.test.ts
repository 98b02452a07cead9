import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { toolOutcome } from "../clients/own-client.ts";
import { packageBin } from "../processes/package-bin.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { balanced, type GatewayProcess, startGateway } from "./gateway-process.ts";

type Call = (tool: string, args: object) => Promise<string>;

let server: NotebookServer;
let proxy: FaultyProxy;
let gateway: Awaited<ReturnType<typeof startGateway>>;
let balancer: Awaited<ReturnType<typeof startBalancer>>;
let home: string;
beforeAll(async () => {
  server = await startNotebookServer();
  proxy = await createFaultyProxy({ target: server.url });
  gateway = await startGateway({ notebook: proxy.url }, { processes: 2 });
  balancer = await startBalancer(gateway.processes);
  home = mkdtempSync(join(tmpdir(), "durable-mcp-home-"));
});
afterAll(async () => {
  await balancer?.stop();
  await gateway?.stop();
  await proxy?.close();
  await server?.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

/** One address before all processes: these clients come back twice, a second apart, and then no more. */
async function startBalancer(processes: readonly GatewayProcess[]) {
  const send = balanced(processes);
  const handle = async (request: Request) => {
    const { url: target, method, headers } = request;
    const body = method === "POST" ? { body: await request.text() } : {};
    return await send(target, { method, headers, ...body });
  };
  const front = createServer(toNodeHandler(handle));
  await new Promise<void>((resolve) => {
    front.listen(0, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    stop: async () => {
      front.closeAllConnections();
      front.close();
    },
  };
}

/** Kills one process after the other. */
async function killAll(): Promise<void> {
  for (const each of gateway.processes) await each.restart();
}

/** What a foreign program sees of this machine. */
const environment = () => ({ PATH: process.env["PATH"] ?? "", HOME: home });
const url = () => `${balancer.origin}/mcp/notebook`;

/** A client on the far side of `mcp-remote`, which is a program with a session of its own. */
async function startMcpRemote(): Promise<{ call: Call; stop: () => Promise<void> }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [packageBin("mcp-remote"), url(), "--transport", "http-only"],
    env: environment(),
    stderr: "ignore",
  });
  const client = new Client({ name: "unchanged", version: "1.0.0" });
  await client.connect(transport);
  return {
    call: async (name, args) =>
      toolOutcome(await client.callTool({ name, arguments: args as Record<string, unknown> })).text,
    stop: () => client.close(),
  };
}

/** `mcporter`, whose daemon keeps a session between its commands. */
async function startMcporter(): Promise<{ call: Call; stop: () => Promise<void> }> {
  const config = join(home, "mcporter.json");
  const notebook = { baseUrl: url(), lifecycle: "keep-alive" };
  writeFileSync(config, JSON.stringify({ mcpServers: { notebook } }));
  const run = async (...args: string[]) => {
    const command = [packageBin("mcporter"), "--config", config, ...args];
    const options = { env: environment(), cwd: home, timeout: 60_000 };
    // It ends with 1 after a result with isError, which it has printed.
    const ended = promisify(execFile)(process.execPath, command, options).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
    );
    return (await ended).stdout;
  };
  return {
    call: (name, args) =>
      run("call", `notebook.${name}`, "--args", JSON.stringify(args), "--output", "text"),
    stop: async () => void (await run("daemon", "stop")),
  };
}

describe.each([
  ["mcp-remote", startMcpRemote],
  ["mcporter with its daemon", startMcporter],
])("%s, unchanged", (_, start) => {
  let client: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    client = await start();
  });
  afterAll(() => client?.stop());
  beforeEach(() => proxy.heal());

  test.each(["not-found", "no-valid-session-id"] as const)(
    "goes on when the server has forgotten, and says so as %s; the model reads what is gone",
    async (dialect) => {
      await client.call("add_note", { text: "one" });
      proxy.forgetSessions({ dialect });
      const after = await client.call("add_note", { text: "again" });
      expect(after).toContain("1 notes");
      expect(after).toContain("had forgotten this session");
      expect(await client.call("list_notes", {})).toContain("again");
    },
  );

  test("goes on in its session when the gateway's process was killed between two calls", async () => {
    const before = await client.call("add_note", { text: "kept" });
    await killAll();
    expect(await client.call("list_notes", {})).toContain("kept");
    expect(before).toMatch(/\d+ notes/);
  });

  test("gets an answer to a call in which the gateway's process is killed, and goes on", async () => {
    const text = `broken off ${Math.random()}`;
    const calling = client.call("slow_echo", { text, delayMs: 15_000 }).catch(String);
    await expect.poll(() => server.runs(text), { timeout: 20_000 }).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await killAll();
    expect(await calling).toContain("whether the call was carried out is unknown");
    expect(server.runs(text)).toBe(1);
    expect(await client.call("list_notes", {})).toContain("kept");
  });
});
