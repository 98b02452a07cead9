import { endpointName } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { bearerVariable, headersOf, variableOf } from "../credentials.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { createProgress, print, printJson, tell } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import type { Outcome, Probe, Row } from "./checks.ts";
import { defineForCommand, defineForUrl } from "./definition.ts";
import { probeCommand } from "./probe-command.ts";
import { probeUrl } from "./probe-url.ts";
import { judgeCommand, judgeServer, type Verdict } from "./verdict.ts";

/** The options of `probe`, as the command line has them. */
interface ProbeOptions {
  readonly json?: true;
  readonly call?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Names of variables, by header. */
  readonly headerEnv?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
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
  const url = readTarget(words, options);
  const { call: name, args = {}, callTimeout } = options;
  const call = name === undefined ? undefined : { name, args, timeoutMs: callTimeout * 1_000 };
  const limits = { requestMs: options.timeout * 1_000, watchMs: options.watch * 1_000 };
  const interruption = new AbortController();
  const interrupt = () =>
    interruption.abort(new CommandFailure("Interrupted. The sessions of the probe were ended."));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const progress = createProgress(command);
  const common = { limits, call, signal: interruption.signal, onStart: progress.show };
  try {
    const seen =
      url === undefined
        ? await probeTheCommand(words, options, common)
        : await probeTheUrl(command, url, options, common);
    progress.clear();
    const { shown, facts, rows, verdict, definition } = seen;
    if (options.json) printJson(command, { target: shown, ...verdict, facts, rows, definition });
    else print(command, showProbe(shown, rows, verdict, definition));
    const failed = rows.find(({ outcome }) => outcome === "failed");
    if (failed !== undefined) throw new CommandFailure(`${failed.check}: ${failed.says}`);
    if (!verdict.isUsable) throw new CommandFailure(verdict.sentences[0] ?? "");
  } finally {
    progress.clear();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
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

async function probeTheUrl(command: Command, url: URL, options: ProbeOptions, common: Probe) {
  const headerVariables = options.headerEnv ?? {};
  const headers = headersOf(headerVariables);
  const isPlain = url.protocol === "http:" && !/^(?:localhost|127\.|\[::1\])/.test(url.hostname);
  if (isPlain && Object.keys(headers).length > 0) {
    tell(command, "Warning: credentials go to this http URL unencrypted.");
  }
  const { facts, rows } = await probeUrl({ url, headers, ...common });
  const verdict = judgeServer(facts);
  const isThere = facts.server !== undefined || facts.oldTransport || facts.authorization;
  const definition = isThere
    ? defineForUrl(url, {
        ...{ verdict, server: facts.server, headerVariables },
        bearerVariable: process.env[bearerVariable] ? bearerVariable : undefined,
      })
    : undefined;
  return { shown: endpointName(url), facts, rows, verdict, definition };
}

async function probeTheCommand(words: readonly string[], options: ProbeOptions, common: Probe) {
  const variables = options.env ?? [];
  const env = Object.fromEntries(variables.map((name) => [name, variableOf("--env", name)]));
  const { facts, rows } = await probeCommand({ words, env, ...common });
  const verdict = judgeCommand(facts);
  const definition = verdict.isUsable
    ? defineForCommand(words, { server: facts.server, variables })
    : undefined;
  return { shown: words.join(" "), facts, rows, verdict, definition };
}

const marks: Readonly<Record<Outcome, string>> = { ok: "✓", note: "i", warning: "!", failed: "✗" };

/** What a probe has seen, for people: a table, a verdict, and the definition to paste. */
function showProbe(
  target: string,
  rows: readonly Row[],
  { sentences: [first = "", ...rest] }: Verdict,
  definition: string | undefined,
): string {
  const table = renderTable(rows.map(({ check, outcome, says }) => [marks[outcome], check, says]));
  return [
    ...[target, table, "", "Verdict", first],
    ...rest.map((sentence) => `- ${sentence}`),
    ...(definition === undefined ? [] : ["", "To paste", definition]),
  ].join("\n");
}
