import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { InputResponses } from "@durable-mcp/core/waiting";
import { packageBin } from "../processes/package-bin.ts";
import { startAskingServer } from "../servers/asking.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import type { AskingScenario } from "./asking-protocol.ts";
import { askingFolder, askingPackages } from "./extra-packages.ts";

/** A server of revision 2026-07-28 whose tool asks a person, with what it is expected to show. */
export interface AskingMatrixServer {
  name: string;
  /** The npm packages whose versions the page names, the server's own first. */
  packages: string[];
  /** The folder that they are in. @default that of this package */
  installed?: URL;
  /** What it is, where the name does not say so. */
  note?: string;
  /** @param stateSeconds how long its `requestState` is good for */
  start: (stateSeconds: number) => Promise<TestServer>;
  tool: string;
  args: Record<string, unknown>;
  /** What a person answers, a round each. */
  answers: InputResponses[];
  /** Part of the result. */
  expected: string;
  /** What is seen of it where it is not as with most. */
  exceptions?: Partial<Record<AskingScenario, string>>;
}

const confirm: InputResponses = { confirm: { action: "accept", content: { ok: true } } };
const delivery = (time: string): InputResponses => ({
  delivery: { action: "accept", content: { time } },
});

const order = {
  tool: "order",
  args: { item: "tea" },
  answers: [confirm],
  expected: "Ordered: tea",
};
const installed = askingPackages;
const ourSdk = {
  packages: ["@modelcontextprotocol/server", "@modelcontextprotocol/node"],
  start: (stateSeconds: number) => startAskingServer({ stateSeconds }),
};
/** Nothing in it says when it is too old, or nobody looks. */
const noExpiry = { "state expired": "worked" };

/** The servers of the era that ask. They share no code with the sessions of the other matrix. */
export const askingServers: AskingMatrixServer[] = [
  {
    ...ourSdk,
    name: "SDK v2, two rounds of forms",
    ...{ tool: "place_order", args: { item: "tea" }, expected: "tea comes at 12:00." },
    answers: [confirm, delivery("12:00")],
    note: "ours; a signed `requestState`",
  },
  {
    ...ourSdk,
    name: "SDK v2, a form and a URL at once",
    ...{ tool: "both", args: {}, expected: "accept" },
    answers: [{ ...confirm, login: { action: "accept" } }],
    note: "ours; a signed `requestState`",
  },
  {
    ...{ ...order, name: "mcp-handler", ...program("mcp-handler-server.mjs") },
    packages: ["mcp-handler", "@modelcontextprotocol/server"],
    installed: new URL("../../node_modules/", askingPackages),
    note: "`requestState: { verify }` is passed on to the SDK",
  },
  {
    ...{ ...order, installed, name: "mcp-use", ...program("mcp-use-server.mjs") },
    packages: ["mcp-use"],
    note: "`requestState: { verify }` is passed on to the SDK",
  },
  {
    ...{ ...order, installed, name: "agents", ...program("agents-server.mjs") },
    packages: ["agents"],
    note: "`agents/mcp/server` on Node",
  },
  {
    ...{ ...order, installed, name: "@mastra/mcp with requestState.key" },
    ...program("mastra-server.mjs", { MASTRA_STATE_KEY: "given" }),
    ...mastra(),
    note: "a tool that calls `suspend`",
  },
  {
    ...{ ...order, installed, name: "@mastra/mcp without a key" },
    ...program("mastra-server.mjs"),
    ...mastra(),
    exceptions: { "server restarted": "expired" },
    note: "a tool that calls `suspend`; each process of the server has a key of its own",
  },
  {
    ...{ ...order, name: "tmcp", ...program("tmcp-server.mjs") },
    packages: ["tmcp", "@tmcp/transport-http"],
    installed: new URL("../../node_modules/", askingPackages),
    answers: [confirm, delivery("noon")],
    exceptions: noExpiry,
    note: "two rounds; no `requestState` in the first, and then one that is neither signed nor dated",
  },
  {
    ...{ ...order, installed, name: "xmcp", start: startXmcpServer },
    packages: ["xmcp", "@xmcp-dev/compiler"],
    exceptions: noExpiry,
    note: "a tool file has no place for a check of `requestState`",
  },
];

function mastra() {
  // One key, which is always this one.
  const answers: InputResponses[] = [{ input: { action: "accept", content: { ok: true } } }];
  return { packages: ["@mastra/mcp", "@mastra/core"], answers };
}

function program(file: string, env: Record<string, string> = {}) {
  const script = fileURLToPath(new URL(`servers/${file}`, askingFolder));
  return {
    start: (stateSeconds: number) => {
      // Some write files where they are started.
      const cwd = temporaryFolder();
      return startServerProcess({
        name: file,
        args: (port) => [
          ...(process.features.typescript ? [] : ["--experimental-strip-types"]),
          ...[script, "--port", String(port), "--state-seconds", String(stateSeconds)],
        ],
        env: () => ({ ...quiet, ...env }),
        cwd: cwd.path,
        onStop: cwd.remove,
      });
    },
  };
}

/** Names of settings in which servers read that they are to tell nobody of themselves. */
const quiet = { MCP_USE_ANONYMIZED_TELEMETRY: "false", XMCP_TELEMETRY_DISABLED: "1" };

let xmcp: { path: string; remove: () => void } | undefined;

/** Builds it on first use. The port is written into what is built. */
function startXmcpServer(stateSeconds: number): Promise<TestServer> {
  const { path } = (xmcp ??= buildXmcp());
  return startServerProcess({
    name: "xmcp",
    args: (port) => {
      const script = join(path, "dist", `http-${port}.js`);
      const built = readFileSync(join(path, "dist/http.js"), "utf8");
      writeFileSync(script, built.replaceAll("61237", String(port)));
      return [script];
    },
    env: () => ({ ...quiet, STATE_SECONDS: String(stateSeconds) }),
    cwd: path,
  });
}

function buildXmcp() {
  const folder = temporaryFolder();
  process.once("exit", folder.remove);
  cpSync(new URL("xmcp/", askingFolder), folder.path, { recursive: true });
  symlinkSync(fileURLToPath(askingPackages), join(folder.path, "node_modules"));
  const { status, stderr } = spawnSync(
    process.execPath,
    [packageBin("xmcp", askingPackages), "build"],
    { cwd: folder.path, env: { ...process.env, ...quiet } },
  );
  if (status !== 0) throw new Error(`xmcp build ended with ${status}: ${stderr.toString()}`);
  return folder;
}

function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), "durable-mcp-asking-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
