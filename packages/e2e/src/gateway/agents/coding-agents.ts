import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** What an agent is told where to go. */
interface Addresses {
  /** The scripted model's origin. */
  readonly model: string;
  /** The MCP server's URL. */
  readonly server: string;
}

/** A coding agent from npm, as its user installs it. */
export interface CodingAgent {
  readonly name: string;
  readonly version: string;
  /** The folder of the command, below `node_modules`, and the command. */
  readonly command: readonly [program: string, ...args: string[]];
  /** The same for its resume of the last run. */
  readonly resume: readonly [program: string, ...args: string[]];
  /** Its settings, by their place in HOME. */
  readonly files: (addresses: Addresses) => Readonly<Record<string, string>>;
  readonly environment?: (addresses: Addresses) => Readonly<Record<string, string>>;
}

const prompt = "Call the tools of the notebook, one after the other.";

/** Programs of these packages run as they are; scripts with Node. */
export const codingAgents: readonly CodingAgent[] = [
  {
    name: "@openai/codex",
    version: "0.171.0",
    command: ["@openai/codex/bin/codex.js", "exec", "--skip-git-repo-check", prompt],
    resume: [
      "@openai/codex/bin/codex.js",
      ...["exec", "resume", "--last", "--skip-git-repo-check", prompt],
    ],
    files: ({ model, server }) => ({
      ".codex/config.toml": `
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.notebook]
url = "${server}"
startup_timeout_sec = 60
required = true
`,
    }),
  },
  {
    name: "opencode-ai",
    version: "1.18.33",
    command: [`opencode-${process.platform}-${process.arch}/bin/opencode`, "run", prompt],
    resume: [
      `opencode-${process.platform}-${process.arch}/bin/opencode`,
      ...["run", "--continue", prompt],
    ],
    files: ({ model, server }) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        $schema: "https://opencode.ai/config.json",
        autoupdate: false,
        share: "disabled",
        model: "scripted/scripted",
        small_model: "scripted/scripted",
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            name: "scripted",
            options: { baseURL: `${model}/v1`, apiKey: "none" },
            models: { scripted: { name: "scripted", tool_call: true } },
          },
        },
        permission: { "*": "allow" },
        mcp: { notebook: { type: "remote", url: server, oauth: false, enabled: true } },
      }),
    }),
    environment: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    }),
  },
  {
    name: "@google/gemini-cli",
    version: "0.61.0",
    command: [
      "@google/gemini-cli/bundle/gemini.js",
      "--yolo",
      "--skip-trust",
      "-m",
      "gemini-2.5-flash",
      "-p",
      prompt,
    ],
    resume: [
      "@google/gemini-cli/bundle/gemini.js",
      ...["--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "--resume", "latest", "-p", prompt],
    ],
    files: ({ server }) => ({
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false, disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        mcpServers: { notebook: { httpUrl: server, trust: true } },
      }),
    }),
    environment: ({ model }) => ({
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_API_KEY: "none",
    }),
  },
  {
    name: "@qwen-code/qwen-code",
    version: "0.24.4",
    command: ["@qwen-code/qwen-code/cli-entry.js", "--yolo", "-p", prompt],
    resume: ["@qwen-code/qwen-code/cli-entry.js", "--yolo", "--continue", "-p", prompt],
    files: ({ server }) => ({
      ".qwen/settings.json": JSON.stringify({
        security: { auth: { selectedType: "openai" } },
        general: { enableAutoUpdate: false, disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        mcpServers: { notebook: { httpUrl: server, trust: true } },
      }),
    }),
    environment: ({ model }) => ({
      OPENAI_BASE_URL: `${model}/v1`,
      OPENAI_API_KEY: "none",
      OPENAI_MODEL: "scripted",
    }),
  },
];

/** Installs a package and others once a machine, without their scripts. @returns its `node_modules` */
export async function installed({
  name,
  version,
  others = [],
}: Pick<CodingAgent, "name" | "version"> & { readonly others?: readonly string[] }) {
  const folder = join(tmpdir(), "durable-mcp-agents", `${name.replace("/", "+")}@${version}`);
  const modules = join(folder, "node_modules");
  if (!existsSync(join(folder, "ready"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    const command = ["install", ...flags, `${name}@${version}`, ...others];
    await promisify(execFile)("npm", command, { cwd: folder, timeout: 600_000 });
    writeFileSync(join(folder, "ready"), "");
  }
  return modules;
}

interface RunOptions {
  /** A HOME that is kept. @default one of its own */
  readonly home?: string;
  readonly resume?: boolean;
}

/** Runs an agent to its end, in a HOME of its own, with nothing of this environment. @returns what it printed */
export async function runAgent(
  agent: CodingAgent,
  addresses: Addresses,
  timeoutMs: number,
  { home: given, resume = false }: RunOptions = {},
): Promise<string> {
  const modules = await installed(agent);
  const home = given ?? mkdtempSync(join(tmpdir(), "durable-mcp-agent-"));
  const work = join(home, "work");
  mkdirSync(work, { recursive: true });
  for (const [path, text] of Object.entries(agent.files(addresses))) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const [program, ...args] = resume ? agent.resume : agent.command;
  const path = join(modules, program);
  const command = path.endsWith("js") ? [process.execPath, path, ...args] : [path, ...args];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ...agent.environment?.(addresses) };
  const options = { cwd: work, env, timeout: timeoutMs, killSignal: "SIGKILL" as const };
  const running = promisify(execFile)(command[0]!, command.slice(1), options);
  running.child.stdin?.end();
  const ended = await running.catch((error: { stdout?: string; stderr?: string }) => error);
  if (given === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  return `${ended.stdout ?? ""}\n${ended.stderr ?? ""}`;
}
