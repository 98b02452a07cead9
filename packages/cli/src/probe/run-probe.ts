import { endpointName } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { bearerVariable, headersOf, variableOf } from "../credentials.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { jsonText, print, printJson, tell } from "../output/print.ts";
import type { Probe } from "./checks.ts";
import { defineForCommand, defineForUrl, moduleOf } from "./definition.ts";
import { interruptible } from "./interruptible.ts";
import { probeCommand } from "./probe-command.ts";
import type { Seen } from "./probe-declared.ts";
import { probeFile } from "./probe-file.ts";
import { probeUrl } from "./probe-url.ts";
import { faultOf, seenJson, showProbe } from "./show-probe.ts";
import { isThere, judgeCommand, judgeServer } from "./verdict.ts";

/** The options of `probe`, as the command line has them. */
interface ProbeOptions {
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
  const url = file === undefined ? readTarget(words, options) : undefined;
  const { call: name, args = {}, callTimeout } = options;
  const call = name === undefined ? undefined : { name, args, timeoutMs: callTimeout * 1_000 };
  const limits = { requestMs: options.timeout * 1_000, watchMs: options.watch * 1_000 };
  await interruptible(command, async (signal, progress) => {
    const common = { limits, call, signal, onStart: progress.show };
    if (file !== undefined) {
      await probeFile(command, file, { ...common, json: options.json, clear: progress.clear });
      return;
    }
    const seen =
      url === undefined
        ? await probeTheCommand(words, options, common)
        : await probeTheUrl(command, url, options, common);
    progress.clear();
    if (options.json) printJson(command, seenJson(seen));
    else {
      const { definition } = seen;
      const toPaste = definition && `\n\nTo paste\n${moduleOf(definition)}`;
      print(command, showProbe(seen.shown, seen) + (toPaste ?? ""));
    }
    const fault = faultOf(seen);
    if (fault !== undefined) throw new CommandFailure(fault);
  });
}

/** The path of an `mcp.json`; `undefined` for a URL or a command. @throws {CommandFailure} for options of those */
function readFileTarget(
  words: readonly string[],
  { mcpJson, call, args, env, headerEnv }: ProbeOptions,
): string | undefined {
  const [first = ""] = words;
  const isFile =
    words.length === 1 && /\.jsonc?$/i.test(first) && !/^[a-z][\w+.-]*:\/\//i.test(first);
  const path = mcpJson ?? (isFile ? first : undefined);
  if (path === undefined) {
    if (words.length > 0) return undefined;
    throw wrongUsage("Say what to probe: a URL, the path of an mcp.json, or after -- a command.");
  }
  if (mcpJson !== undefined && words.length > 0)
    throw wrongUsage("--mcp-json names all that is probed: leave the rest out.");
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

async function probeTheUrl(
  command: Command,
  url: URL,
  options: ProbeOptions,
  common: Probe,
): Promise<Seen> {
  const headerVariables = options.headerEnv ?? {};
  const headers = headersOf(headerVariables);
  const isPlain = url.protocol === "http:" && !/^(?:localhost|127\.|\[::1\])/.test(url.hostname);
  if (isPlain && Object.keys(headers).length > 0) {
    tell(command, "Warning: credentials go to this http URL unencrypted.");
  }
  const { facts, rows } = await probeUrl({ url, headers, ...common });
  const verdict = judgeServer(facts);
  const definition = isThere(facts)
    ? defineForUrl(url, {
        ...{ verdict, server: facts.server, headerVariables },
        bearerVariable: process.env[bearerVariable] ? bearerVariable : undefined,
      })
    : undefined;
  return { shown: endpointName(url), facts, rows, verdict, definition };
}

async function probeTheCommand(
  words: readonly string[],
  options: ProbeOptions,
  common: Probe,
): Promise<Seen> {
  const names = options.env ?? [];
  const env = Object.fromEntries(names.map((name) => [name, variableOf("--env", name)]));
  const { facts, rows } = await probeCommand({ words, env, ...common });
  const verdict = judgeCommand(facts);
  const variables = Object.fromEntries(names.map((name) => [name, name]));
  const expressions = words.map((word) => jsonText(word));
  const definition = verdict.isUsable
    ? defineForCommand({ words: expressions, server: facts.server, variables })
    : undefined;
  return { shown: words.join(" "), facts, rows, verdict, definition };
}
