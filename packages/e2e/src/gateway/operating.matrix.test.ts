import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { commandLine, startGateway } from "./gateway-process.ts";

let server: NotebookServer;
let gateway: Awaited<ReturnType<typeof startGateway>>;
beforeAll(async () => {
  server = await startNotebookServer();
  gateway = await startGateway({ notebook: server.url });
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
});

const url = () => gateway.processes[0]!.urlOf("notebook");

/** The resident memory of the gateway's process, in MB. */
function residentMb(): number {
  const status = readFileSync(`/proc/${gateway.processes[0]!.pid()}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

/** @returns what grows while `work` runs, in MB, at its highest */
async function growthMb(work: () => Promise<unknown>): Promise<number> {
  const before = residentMb();
  let peak = before;
  const looking = setInterval(() => {
    peak = Math.max(peak, residentMb());
  }, 10);
  await work().finally(() => clearInterval(looking));
  return Math.max(peak, residentMb()) - before;
}

test.skipIf(process.platform !== "linux")(
  "answers of 20 MB pass one after the other, and cost what one of them costs",
  async () => {
    const client = new Client({ name: "unchanged", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url())));
    onTestFinished(() => client.close());
    const call = async (bytes: number) => {
      const args = { bytes, kind: "text" };
      const { content } = await client.callTool({ name: "big", arguments: args });
      const [{ text = "" } = {}] = content as { text?: string }[];
      expect(text.length).toBeGreaterThanOrEqual(bytes);
    };
    const calls = async (count: number) => {
      for (let made = 0; made < count; made += 1) await call(20_000_000);
    };
    await call(1_000);
    // A message is held once to give it its client's id again, as bytes and as text. Answers that are kept make 480 MB.
    expect(await growthMb(() => calls(12))).toBeLessThan(320);
  },
);

test("`doctor` says of a gateway's address what it says of a server, and leaves no session", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { notebook: { url: url() } } }));
  const before = (await server.stats()).sessions;
  const args = [...commandLine(), "doctor", "--mcp-json", file, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { rows } = JSON.parse(stdout) as { rows: { check: string; says: string }[] };
  const row = rows.find(({ check }) => check === "server notebook");
  expect(row?.says).toMatch(/^notebook \S+, 8 tools\. It gives session ids/);
  expect((await server.stats()).sessions).toBe(before);
});
