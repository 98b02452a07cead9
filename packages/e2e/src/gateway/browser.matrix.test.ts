import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium } from "../../../examples/src/programs/find-chromium.ts";
import { packageBin } from "../processes/package-bin.ts";
import { programArguments } from "../processes/programs.ts";
import { startGateway } from "./gateway-process.ts";

const chromium = findChromium();
const page = createServer((_, response) => {
  response.setHeader("content-type", "text/html");
  response.end("<title>Shop</title><h1>Our shop</h1><input aria-label=Name>");
});
let gateway: Awaited<ReturnType<typeof startGateway>>;
let shop: string;
const folder = mkdtempSync(join(tmpdir(), "durable-mcp-browser-"));
beforeAll(async () => {
  if (chromium === undefined) return;
  await new Promise<void>((resolve) => {
    page.listen(0, "127.0.0.1", resolve);
  });
  shop = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
  const args = [
    packageBin("@playwright/mcp"),
    ...["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium],
    ...["--output-dir", folder],
  ];
  gateway = await startGateway({ browser: { command: process.execPath, args, cwd: folder } });
});
afterAll(async () => {
  await gateway?.stop();
  page.closeAllConnections();
  page.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const url = () => `${gateway.processes[0]!.urlOf("browser")}@work`;

async function connect() {
  const client = new Client({ name: "unchanged", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url())));
  return client;
}

const use = async (client: Client, name: string, args: object = {}) =>
  JSON.stringify(await client.callTool({ name, arguments: { ...args } }));

test.skipIf(chromium === undefined)(
  "a page that one client has opened is open for the next, also after the client was killed",
  async () => {
    const first = await connect();
    await use(first, "browser_navigate", { url: shop });
    await first.close();
    const second = await connect();
    expect(await use(second, "browser_snapshot")).toContain("Our shop");
    await second.close();
    // A client that is killed in a call.
    const client = new URL("killed-client-program.ts", import.meta.url);
    const killed = spawn(process.execPath, [...programArguments(client), url(), shop], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => void killed.stdout.once("data", resolve));
    killed.kill("SIGKILL");
    const third = await connect();
    expect(await use(third, "browser_snapshot")).toContain("#killed");
    await third.close();
  },
  120_000,
);
