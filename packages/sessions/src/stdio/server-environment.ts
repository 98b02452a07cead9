import { McpSessionError } from "@durable-mcp/core";
import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import { secretName, secretsOfUrl } from "../connection/connection-secrets.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type { McpStdioConnectionOptions } from "../declare/stdio-connection-options.ts";
import type { StdioErrors } from "./stdio-errors.ts";

/**
 * All values of a definition's `env`, for one principal.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` when its functions take longer than `connectMs`
 */
export async function resolveEnvironment({
  options: { env = {} },
  context,
  connectMs,
  errors,
}: {
  readonly options: Pick<McpStdioConnectionOptions, "env">;
  readonly context: ConnectionContext;
  readonly connectMs: number;
  readonly errors: StdioErrors;
}): Promise<Record<string, string>> {
  const signal = withTimeLimit(connectMs, context.abortSignal);
  try {
    return await abortable(resolveAll(env, context), signal);
  } catch (error) {
    if (error !== signal.reason || context.abortSignal.aborted) throw error;
    const why = `could not be started: the functions of env took longer than ${connectMs} ms.`;
    throw errors.unavailable(why, { field: "env" });
  }
}

async function resolveAll(
  env: NonNullable<McpStdioConnectionOptions["env"]>,
  context: ConnectionContext,
): Promise<Record<string, string>> {
  const entries = Object.entries(env).map(async ([name, value]) => {
    const resolved: unknown = typeof value === "string" ? value : await value(context);
    if (typeof resolved === "string" && !resolved.includes("\0")) return [name, resolved] as const;
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `Connection ${context.connection}: env.${name} must return a string without null characters.`,
      { data: { field: `env.${name}`, connection: context.connection } },
    );
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** `--api-key=value`, `TOKEN=value`, `Authorization: value`. */
const assignment = /^-{0,2}([\w.-]+)\s*[=:]\s*(.+)$/s;

/**
 * The parts of a server's environment and arguments that are never quoted: each value of `env`, and the
 * arguments that name themselves secret. The password of a URL, and each line of a value, count too.
 */
export function secretValues(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): string[] {
  const secrets = [...Object.values(env), ...args.flatMap(secretArguments)];
  const parts = secrets.flatMap((secret) => secret.split(/\r?\n/));
  return [...new Set([...secrets, ...parts, ...[...secrets, ...args].flatMap(secretsOfText)])];
}

function secretArguments(argument: string, index: number, all: readonly string[]): string[] {
  const [, name = "", value = ""] = assignment.exec(argument) ?? [];
  if (secretName.test(name)) return [value];
  const before = all[index - 1] ?? "";
  return /^--?[\w.-]+$/.test(before) && secretName.test(before) ? [argument] : [];
}

function secretsOfText(text: string): string[] {
  if (!text.includes("://") || !URL.canParse(text)) return [];
  return secretsOfUrl(new URL(text));
}
