import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { startMcporter, startMcpRemote } from "./agents/other-clients.ts";
import { startBalancer, startGateway } from "./gateway-process.ts";

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

/** Kills one process after the other. */
async function killAll(): Promise<void> {
  for (const each of gateway.processes) await each.restart();
}

const url = () => `${balancer.origin}/mcp/notebook`;

describe.each([
  ["mcp-remote", startMcpRemote],
  ["mcporter with its daemon", startMcporter],
])("%s, unchanged", (_, start) => {
  let client: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    client = await start(url(), home);
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
