import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { inParallel } from "@durable-mcp/sessions/internal";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import type { Command } from "commander";
import { type DeclaredServer, isDisabled } from "../configuration/declared-server.ts";
import type { FilePermissionOptions } from "../configuration/file-permission.ts";
import { readMcpJson } from "../configuration/mcp-json.ts";
import { bearerVariable, headersOf, variableOf } from "../credentials.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { createProgress, tell } from "../output/print.ts";
import { probeDeclared } from "./probe-declared.ts";
import { printProbes } from "./print-probes.ts";

/** The options of `probe`, as the command line has them. */
interface ProbeOptions extends FilePermissionOptions {
  readonly json?: true;
  readonly call?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Names of variables, by header. */
  readonly headerEnv?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
  /** A path. */
  readonly mcpJson?: string;
  /** In seconds. */
  readonly timeout: number;
  readonly callTimeout: number;
  readonly watch: number;
}

/** @throws {CommandFailure} for wrong usage, and for a server that durable-mcp cannot use */
export async function runProbe(
  command: Command,
  words: readonly string[],
  options: ProbeOptions,
): Promise<void> {
  const file = readFileTarget(words, options);
  const all =
    file === undefined ? [declare(command, words, options)] : await readMcpJson(file, options);
  const off = all.filter(isDisabled).map((server) => server.name);
  if (off.length > 0) tell(command, `Disabled in the file, and not probed: ${off.join(", ")}.`);
  const { call: tool, args = {}, callTimeout } = options;
  const call =
    tool === undefined ? undefined : { name: tool, args, timeoutMs: callTimeout * 1_000 };
  const limits = { requestMs: options.timeout * 1_000, watchMs: options.watch * 1_000 };
  const servers = all.filter((server) => !isDisabled(server));
  const seen = await interruptible(command, async (signal, { show }) =>
    inParallel(servers, async (server) => {
      const onStart = (check: string) => show(server.name ? `${server.name}: ${check}` : check);
      return await probeDeclared(server, { limits, call, signal, onStart });
    }),
  );
  printProbes(command, seen, { json: options.json, isFile: file !== undefined });
}

/** Runs probes. An interruption of this process ends them, and they end their sessions. */
export async function interruptible<T>(
  command: Command,
  work: (signal: AbortSignal, progress: ReturnType<typeof createProgress>) => Promise<T>,
): Promise<T> {
  const interruption = new AbortController();
  const interrupt = () =>
    interruption.abort(new CommandFailure("Interrupted. The sessions of the probe were ended."));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const progress = createProgress(command);
  try {
    return await work(interruption.signal, progress);
  } finally {
    progress.clear();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

/** The path of an `mcp.json`; `undefined` for a URL or a command. @throws {CommandFailure} for options of those */
function readFileTarget(
  words: readonly string[],
  { mcpJson, call, args, env, headerEnv, variable, start }: ProbeOptions,
): string | undefined {
  const isFile = words.length === 1 && /^(?!\w+:\/\/).*\.jsonc?$/i.test(words[0]!);
  const path = mcpJson ?? (isFile ? words[0] : undefined);
  if ((mcpJson === undefined) === (words.length === 0))
    throw wrongUsage(
      "Say one: a URL, the path of an mcp.json (also with --mcp-json), or after -- a command.",
    );
  if (path === undefined) {
    if (variable ?? start)
      throw wrongUsage(
        "--variable and --start are for the servers of a file. A command has --env.",
      );
    return undefined;
  }
  if (call ?? args ?? env ?? headerEnv)
    throw wrongUsage(
      "--call, --args, --env and --header-env are for one server: say its URL or command instead of a file.",
    );
  return path;
}

/**
 * The URL that is probed; `undefined` for a program with its arguments.
 *
 * @throws {CommandFailure} for what is neither, and for options of the other kind
 */
export function readTarget(words: readonly string[], options: ProbeOptions): URL | undefined {
  if (options.args !== undefined && options.call === undefined) {
    throw wrongUsage("--args belongs to a call: say --call NAME as well.");
  }
  const [first = ""] = words;
  if (/^https?:/i.test(first)) {
    if (words.length > 1) throw wrongUsage("One URL is meant. A command stands after `--`.");
    if (options.env !== undefined)
      throw wrongUsage("--env is for a command; for a URL: --header-env.");
    return readUrl(first);
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(first))
    throw wrongUsage("The URL must begin with http or https.");
  // `localhost:3000/mcp` and `example.com/mcp` are no programs.
  const isAddress =
    words.length === 1 &&
    /^[\w.-]+(?:\.[a-z]{2,}|:\d+)(?:\/|$)/i.test(first) &&
    !/\.(?:[cm]?[jt]s|py|sh|exe|cmd|bat)$/i.test(first);
  if (isAddress) {
    const scheme = /^(?:localhost|127\.)/.test(first) ? "http" : "https";
    throw wrongUsage(`A URL begins with its scheme: ${scheme}://${first}`);
  }
  if (options.headerEnv !== undefined)
    throw wrongUsage("--header-env is for a URL; a command has --env.");
  return undefined;
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw wrongUsage("That is no URL. It looks like https://mcp.example/mcp.");
  if (url.username === "" && url.password === "") return url;
  throw wrongUsage(
    "The URL has credentials in it, which other users of this machine can read. Put them into a variable: --header-env authorization=VARIABLE.",
  );
}

/** What is declared by the words and options of a command line, as an entry of a file says it. */
function declare(
  command: Command,
  words: readonly string[],
  options: ProbeOptions,
): DeclaredServer {
  const url = readTarget(words, options);
  const description = "The server that is probed.";
  if (url === undefined) {
    const [program = "", ...args] = words;
    const names = options.env ?? [];
    const env = Object.fromEntries(names.map((name) => [name, variableOf("--env", name)]));
    const written = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
    const connection = defineMcpStdioConnection({ command: program, args, env, description });
    return { name: "", connection, entry: { command: program, args, env: written } };
  }
  const headers = headersOf(options.headerEnv);
  const isPlain = url.protocol === "http:" && !/^(?:localhost|127\.|\[::1\])/.test(url.hostname);
  if (isPlain && Object.keys(headers).length > 0) {
    tell(command, "Warning: credentials go to this http URL unencrypted.");
  }
  const variables = Object.entries({ ...options.headerEnv });
  const written = {
    ...(process.env[bearerVariable] && { authorization: `Bearer \${${bearerVariable}}` }),
    ...Object.fromEntries(variables.map(([header, variable]) => [header, `\${${variable}}`])),
  };
  const connection = defineMcpClientConnection({ url, headers, description });
  return { name: "", connection, entry: { url: url.href, headers: written } };
}
