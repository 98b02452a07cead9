import { endpointName } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import { createProgress } from "../output/progress.ts";
import { defineForCommand, defineForUrl } from "./definition.ts";
import type { ProbeOptions } from "./probe-options.ts";
import { probeCommand } from "./probe-command.ts";
import { probeUrl } from "./probe-url.ts";
import { readTarget } from "./read-target.ts";
import { showProbe } from "./show.ts";
import { judgeCommand, judgeServer } from "./verdict.ts";

/** The variable of the bearer token. */
const bearerVariable = "DURABLE_MCP_BEARER";

/** @throws {CommandFailure} for wrong usage, and for a server that durable-mcp cannot use */
export async function runProbe(
  command: Command,
  words: readonly string[],
  options: ProbeOptions,
): Promise<void> {
  const target = readTarget(words, options);
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
      target.type === "command"
        ? await probeTheCommand(target.words, options, common)
        : await probeTheUrl(command, target.url, options, common);
    progress.clear();
    const { shown, facts, rows, verdict, definition } = seen;
    if (options.json) printJson(command, { target: shown, ...verdict, facts, rows, definition });
    else print(command, showProbe({ target: shown, rows, verdict, definition }));
    const failed = rows.find(({ outcome }) => outcome === "failed");
    if (failed !== undefined) throw new CommandFailure(`${failed.check}: ${failed.says}`);
    if (!verdict.isUsable) throw new CommandFailure(verdict.sentences[0] ?? "");
  } finally {
    progress.clear();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

type Common = Pick<Parameters<typeof probeUrl>[0], "limits" | "call" | "signal" | "onStart">;

async function probeTheUrl(command: Command, url: URL, options: ProbeOptions, common: Common) {
  const headerVariables = options.headerEnv ?? {};
  const headers = Object.fromEntries(
    Object.entries(headerVariables).map(([name, variable]) => [name, valueOf(variable)]),
  );
  const bearer = process.env[bearerVariable];
  if (bearer) headers["authorization"] = `Bearer ${bearer}`;
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
        bearerVariable: bearer ? bearerVariable : undefined,
      })
    : undefined;
  return { shown: endpointName(url), facts, rows, verdict, definition };
}

async function probeTheCommand(words: readonly string[], options: ProbeOptions, common: Common) {
  const variables = options.env ?? [];
  const env = Object.fromEntries(variables.map((name) => [name, valueOf(name)]));
  const { facts, rows } = await probeCommand({ words, env, ...common });
  const verdict = judgeCommand(facts);
  const definition = verdict.isUsable
    ? defineForCommand(words, { server: facts.server, variables })
    : undefined;
  return { shown: words.join(" "), facts, rows, verdict, definition };
}

function valueOf(variable: string): string {
  const value = process.env[variable];
  if (value) return value;
  throw new CommandFailure(`The environment has no ${variable}. Set it, and try again.`, {
    exitCode: 2,
  });
}
