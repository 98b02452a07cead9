import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import { createOAuth } from "@durable-mcp/oauth";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startLoopbackServer } from "../../../oauth/test/loopback-server.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { startSessionServer } from "../../test/session-server.ts";
import { openFile, startApplication, temporaryFile } from "../../test/store-of-an-application.ts";
import { runMain } from "../../test/start-cli.ts";
import { checkNode } from "./run-doctor.ts";

afterEach(() => vi.unstubAllEnvs());

interface Checked {
  readonly check: string;
  readonly outcome: string;
  readonly says: string;
}

/** Runs `doctor`. @returns its exit code, and its rows by their names */
async function diagnose(...options: string[]) {
  const { exitCode, json, stderr } = await runCliJson("doctor", ...options);
  const rows = Object.fromEntries(json.rows.map((row: Checked) => [row.check, row]));
  return { exitCode, stderr, rows: rows as Record<string, Checked> };
}

const base64Key = () => randomBytes(32).toString("base64");

test("without options it says what it has not checked, and what to give", async () => {
  vi.stubEnv("DURABLE_MCP_STORE", "");
  const { exitCode, rows } = await diagnose();
  expect(exitCode).toBe(0);
  expect(Object.values(rows).map(({ check, outcome }) => `${check}: ${outcome}`)).toEqual([
    "Node: ok",
    "store: note",
    "redirect URL: note",
    "servers: note",
  ]);
  expect(rows["store"]?.says).toContain("DURABLE_MCP_STORE");
});

test.each([
  ["22.18.0", "failed"],
  ["22.19.0", "ok"],
  ["24.0.0", "ok"],
  ["20.20.1", "failed"],
])("Node %s: %s", (version, outcome) => expect(checkNode(version).outcome).toBe(outcome));

describe("the store", () => {
  test("is read, written and left as it was", async () => {
    const { address, store } = await startApplication();
    const before = await store.list({ limit: 100 });
    const { exitCode, rows } = await diagnose("--store", address);
    expect(exitCode).toBe(0);
    expect(rows).toMatchObject({
      store: { outcome: "ok", says: expect.stringContaining("The SQLite table mcp_sessions") },
      keys: { outcome: "note", says: expect.stringContaining("Nothing is sealed") },
      "a write": { outcome: "ok" },
    });
    expect((await store.list({ limit: 100 })).records).toEqual(before.records);
  });

  test("that is not there, or has no table, fails with what to do, and 1", async () => {
    const none = await diagnose("--store", `file:${temporaryFile("none.db")}`);
    expect(none).toMatchObject({ exitCode: 1, rows: { store: { outcome: "failed" } } });
    expect(none.stderr).toContain("Failed: store.");
    expect(none.rows["a write"]).toBeUndefined();
    const { store, address } = openFile();
    await store.createTables();
    const table = await diagnose("--store", address, "--table", "others");
    expect(table.rows["store"]?.says).toContain("the database has no table others");
  });

  test("that takes no writes fails the write alone", async () => {
    const { address, path } = await startApplication();
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(path);
    database.exec(
      "CREATE TRIGGER refuse BEFORE INSERT ON mcp_sessions BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    database.close();
    const { exitCode, rows } = await diagnose("--store", address);
    expect(exitCode).toBe(1);
    expect(rows).toMatchObject({ store: { outcome: "ok" }, "a write": { outcome: "failed" } });
  });
});

/** An application whose store is sealed, and keys in the environment. */
async function startSealed() {
  const [current, fingerprintKey] = [base64Key(), base64Key()];
  const application = await startApplication((plain) =>
    encryptStore(plain, { keys: { current }, fingerprintKey }),
  );
  vi.stubEnv("KEY", current);
  vi.stubEnv("MARK", fingerprintKey);
  vi.stubEnv("OTHER", base64Key());
  vi.stubEnv("SHORT", "c2hvcnQ=");
  return { ...application, inStore: ["--store", application.address] };
}

describe("the keys", () => {
  test.each([
    [["--key-env", "KEY"], "ok", /opens 2 sealed records.*--fingerprint-key-env/],
    [["--key-env", "KEY", "--fingerprint-key-env", "MARK"], "ok", /opens 2 sealed records/],
    [["--key-env", "OTHER", "--previous-key-env", "KEY"], "ok", /opens 2 sealed/],
    [[], "warning", /has 2 sealed records.*--key-env/],
    [["--key-env", "OTHER"], "failed", /2 of 2 sealed records cannot be opened/],
    [["--key-env", "SHORT"], "failed", /SHORT is no key: 32 bytes as base64/],
    [["--key-env", "NO_SUCH"], "failed", /NO_SUCH/],
    [["--key-env", "KEY", "--fingerprint-key-env", "OTHER"], "failed", /another fingerprintKey/],
  ])("%j: %s", async (options, outcome, says) => {
    const { inStore, store } = await startSealed();
    const { rows, exitCode } = await diagnose(...inStore, ...options);
    expect(rows["keys"]).toMatchObject({ outcome, says: expect.stringMatching(says) });
    expect(exitCode).toBe(outcome === "failed" ? 1 : 0);
    // The store itself is not at fault, and takes writes.
    expect(rows).toMatchObject({ store: { outcome: "ok" }, "a write": { outcome: "ok" } });
    expect((await store.list({ limit: 9 })).records).toHaveLength(2);
  });

  test("are no use to a store that is not sealed, whatever sign-ins are", async () => {
    const { address, store } = await startApplication();
    vi.stubEnv("KEY", base64Key());
    const key = JSON.stringify([null, "oauth", "oauth/grant/digest", "app"]);
    await store.put(key, "a sealed text", null, { owner: "app" });
    const { rows } = await diagnose("--store", address, "--key-env", "KEY");
    expect(rows["keys"]).toMatchObject({
      outcome: "warning",
      says: expect.stringContaining("does not encrypt"),
    });
  });
});

/** The message of what it throws. */
function attempt(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ["https://app.example/oauth/callback", "ok"],
  ["http://localhost:3000/oauth/callback", "note"],
  ["http://app.example/oauth/callback", "failed"],
  ["https://app.example/oauth/callback#here", "failed"],
  ["app.example", "failed"],
])("the redirect URL %s: %s", async (url, outcome) => {
  const { rows, exitCode } = await diagnose("--redirect-url", url);
  expect(rows["redirect URL"]?.outcome).toBe(outcome);
  expect(exitCode).toBe(outcome === "failed" ? 1 : 0);
  // The library says the same of it.
  const { store } = openFile();
  const create = () => createOAuth({ store, keys: "store tokens unencrypted", redirectUrl: url });
  const refusal = attempt(create);
  expect(refusal === undefined).toBe(outcome !== "failed");
  expect(refusal ?? "redirectUrl").toContain("redirectUrl");
});

const writeFile = (servers: object) => {
  const path = temporaryFile("mcp.json");
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
};

describe("the servers", () => {
  test("of a file are asked shortly, and one that gives session ids is told of", async () => {
    const server = await startSessionServer();
    const path = writeFile({
      notes: { url: server.url.href },
      locked: { url: "https://mcp.example", headers: { a: "${NO_SUCH_KEY}" } },
      gone: { command: "no-such-program-here" },
      off: { command: "no-such-program-here", disabled: true },
    });
    const { exitCode, rows, stderr } = await diagnose("--mcp-json", path, "--start");
    expect(exitCode).toBe(1);
    expect(rows).toMatchObject({
      "server notes": {
        outcome: "warning",
        says: expect.stringMatching(
          /^notes-server 1\.2\.3, 1 tool\. It gives session ids, and the connection keeps none/,
        ),
      },
      "server locked": { outcome: "failed", says: expect.stringContaining("NO_SUCH_KEY") },
      "server gone": { outcome: "failed", says: expect.stringContaining("there is no command") },
      "server off": { outcome: "note" },
    });
    expect(stderr).toContain("Failed: server locked, server gone.");
    // One session, which is ended.
    expect(server.made()).toBe(1);
    expect(server.open()).toBe(0);
    expect(server.calls()).toBe(0);
  });

  test("a server that refuses is named, with what the connection needs", async () => {
    const { origin } = await startLoopbackServer((_, response) => response.writeHead(401).end());
    vi.stubEnv("A_TOKEN", "a-token-of-mine");
    const headers = { Authorization: "Bearer ${A_TOKEN}" };
    const path = writeFile({ open: { url: origin }, refused: { url: origin, headers } });
    const words = ["--mcp-json", path, "--variable", "A_TOKEN"];
    const seen = await runCli("doctor", ...words);
    const { rows } = await diagnose(...words);
    expect(rows["server open"]).toMatchObject({ outcome: "warning" });
    expect(rows["server open"]?.says).toContain("give the connection auth or headers");
    expect(rows["server refused"]).toMatchObject({ outcome: "failed" });
    expect(seen.stdout + seen.stderr + JSON.stringify(rows)).not.toContain("a-token-of-mine");
  });

  test("a module says more of a server than a file with the same name", async () => {
    const server = await startSessionServer();
    const { href: url } = server.url;
    const module = temporaryFile("connections.ts");
    const define = (session: "stateful" | "stateless") =>
      JSON.stringify(defineMcpClientConnection({ url, description: "Notes.", session }));
    writeFileSync(
      module,
      `interface Typed {}
      export const connections = { notes: ${define("stateful")}, anew: ${define("stateless")} };
      setInterval(() => undefined, 1_000);`,
    );
    const path = writeFile({ notes: { url }, other: { url } });
    // In a process of its own, which what the module has opened does not keep alive.
    const { exitCode, stdout } = await runMain(
      ...[["doctor", "--json", "--mcp-json", path, "--connections", module]],
    );
    expect(exitCode).toBe(0);
    const rows: Checked[] = JSON.parse(stdout).rows;
    const [notes, other, anew] = rows.slice(-3);
    expect(notes).toMatchObject({ check: "server notes", outcome: "ok" });
    expect(notes?.says).toContain("the connection keeps its session");
    expect(other).toMatchObject({ check: "server other", outcome: "warning" });
    expect(anew).toMatchObject({ check: "server anew", outcome: "ok" });
  });

  test("a module that cannot be loaded, or has no connections, fails", async () => {
    const module = temporaryFile("connections.mjs");
    const none = await diagnose("--connections", module);
    expect(none.rows["servers"]).toMatchObject({ outcome: "failed" });
    writeFileSync(module, "export const connections = {};");
    const empty = await diagnose("--connections", module);
    expect(empty.exitCode).toBe(1);
  });
});
