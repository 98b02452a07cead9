import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { toolOutcome } from "../../clients/own-client.ts";
import { packageBin } from "../../processes/package-bin.ts";
import { installed } from "./coding-agents.ts";

/** A client without a model, at work. */
export interface OtherClient {
  /** @returns what its user reads of a result */
  readonly call: (tool: string, args: object) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** What a foreign program sees of this machine. */
const environment = (home: string) => ({ PATH: process.env["PATH"] ?? "", HOME: home });

/** A client on the far side of `mcp-remote`, which is a program with a session of its own. */
export async function startMcpRemote(url: string, home: string): Promise<OtherClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [packageBin("mcp-remote"), url, "--transport", "http-only", "--allow-http"],
    env: environment(home),
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

/** @returns what a command prints, also one that ends with an error, as after a result with isError */
async function printed(script: string, args: readonly string[], home: string): Promise<string> {
  const options = { env: environment(home), cwd: home, timeout: 60_000 };
  const running = promisify(execFile)(process.execPath, [script, ...args], options);
  const ended = await running.catch((error: { stdout?: string; stderr?: string }) => error);
  return ended.stdout || (ended.stderr ?? "");
}

/** `mcporter`, whose daemon keeps a session between its commands. */
export async function startMcporter(url: string, home: string): Promise<OtherClient> {
  const config = join(home, "mcporter.json");
  const notebook = { baseUrl: url, lifecycle: "keep-alive" };
  writeFileSync(config, JSON.stringify({ mcpServers: { notebook } }));
  const run = async (...args: string[]) =>
    await printed(packageBin("mcporter"), ["--config", config, ...args], home);
  return {
    call: (name, args) =>
      run("call", `notebook.${name}`, "--args", JSON.stringify(args), "--output", "text"),
    stop: async () => void (await run("daemon", "stop")),
  };
}

/** The Inspector's command line, with a session a command. */
export async function startInspector(url: string, home: string): Promise<OtherClient> {
  const inspector = { name: "@modelcontextprotocol/inspector", version: "2.12.0" };
  const script = join(
    await installed(inspector),
    inspector.name,
    "clients/launcher/build/index.js",
  );
  return {
    async call(name, args) {
      const pairs = Object.entries(args).map(([key, value]) => `${key}=${String(value)}`);
      const given = pairs.length > 0 ? ["--tool-arg", ...pairs] : [];
      const command = [
        "--cli",
        url,
        "--transport",
        "http",
        "--method",
        "tools/call",
        "--tool-name",
        name,
        ...given,
      ];
      return await printed(script, command, home);
    },
    stop: async () => undefined,
  };
}
