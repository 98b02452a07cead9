import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../test/run-cli.ts";
import { claimPrograms } from "./claim-programs.ts";

function fileWith(servers: object): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-gateway-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "mcp.json");
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
}

const browser = { command: "no-such-browser" };

test("a program is left out unless it may be started", async () => {
  const { exitCode, stderr } = await runCli("gateway", fileWith({ browser }), "--port", "0");
  expect(exitCode).toBe(1);
  expect(stderr).toContain("only started when you say so: --start");
});

test("a program is refused with a store that several processes may have", async () => {
  const file = fileWith({ browser });
  const store = "postgres://127.0.0.1:1/none";
  const { exitCode, stderr } = await runCli("gateway", file, "--start", "--store", store);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/--store: browser is a program, which lives in one process/);
});

test("the programs of a store are refused while another gateway has them", async () => {
  const file = fileWith({ browser });
  const path = join(dirname(file), "gateway.db");
  const other = await claimPrograms(`file:${path}`);
  const refused = await runCli("gateway", file, "--start", "--store", `file:${path}`);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain("--store: another gateway has programs over this file");
  other.close();
  (await claimPrograms(`file:${path}`)).close();
  const nowhere = `file:${join(path, "none.db")}`;
  const missing = await runCli("gateway", file, "--start", "--store", nowhere);
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("--store: ") });
});

test.each([
  ["browser_2", "browser_2"],
  ["MCP_DOCKER", "mcp-docker"],
  ["My  Browser!", "my-browser"],
  ["@acme/browser.js", "acme-browser-js"],
])("an entry %s is at %s", async (name, address) => {
  const store = "postgres://127.0.0.1:1/none";
  const file = fileWith({ [name]: browser });
  const { stderr } = await runCli("gateway", file, "--start", "--shared", name, "--store", store);
  expect(stderr).toContain(`--store: ${address} is a program`);
});

test("an entry whose name makes no address, or another entry's, is left out, and says so", async () => {
  const file = fileWith({ Browser: browser, 日本: browser, browser });
  const store = "postgres://127.0.0.1:1/none";
  const { stderr } = await runCli("gateway", file, "--start", "--store", store);
  expect(stderr).toContain(
    "日本 is left out. Its name makes no address: give it one with letters a-z",
  );
  expect(stderr).toContain("browser is left out. Browser has the address /mcp/browser: rename one");
});

test("what of an entry is not used is said", async () => {
  const url = "http://127.0.0.1:9/mcp";
  const file = fileWith({ browser: { ...browser, url, enviroment: {} }, shop: { url, env: {} } });
  const store = "postgres://127.0.0.1:1/none";
  const { stderr } = await runCli("gateway", file, "--start", "--store", store);
  expect(stderr).toContain(
    "browser: left aside are url, enviroment, which no entry with a command has.",
  );
  expect(stderr).toContain("shop: left aside are env, which no entry with a url has.");
  expect(stderr).toContain("--store: browser is a program");
});

test("a file that is no JSON is refused with the line", async () => {
  const file = fileWith({});
  writeFileSync(file, '{\n  "mcpServers": {\n    "shop": { "url": "https://shop.example }\n  }\n}');
  const { exitCode, stderr } = await runCli("gateway", file);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("mcp.json: the file is no JSON at line 3. Correct it.");
});

test("what is shared is a program of the file", async () => {
  const file = fileWith({ browser });
  const { exitCode, stderr } = await runCli("gateway", file, "--start", "--shared", "shop");
  expect(exitCode).toBe(2);
  expect(stderr).toContain("--shared: the file has no program shop");
});
