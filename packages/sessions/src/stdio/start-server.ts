import type { createConnectionSecrets } from "../connection/connection-secrets.ts";
import type { McpStdioConnectionOptions } from "../declare/stdio-connection-options.ts";
import { resolveEnvironment, secretValues } from "./server-environment.ts";
import { createOutputTail, describeDropped } from "./stdio-errors.ts";
import { type ProcessEnd, startSupervisedProcess } from "./supervised-process.ts";

type ServerParts = Parameters<typeof resolveEnvironment>[0] & {
  readonly options: McpStdioConnectionOptions;
  readonly secrets: ReturnType<typeof createConnectionSecrets>;
};

/** Starts the process of a server, and keeps the end of its output. Its environment and arguments may be secrets. */
export async function startServer(parts: ServerParts) {
  const { options, context, secrets } = parts;
  const { command, args = [], cwd, timeouts } = options;
  const env = await resolveEnvironment(parts);
  // The run may have ended meanwhile, and then nobody would end the server.
  context.abortSignal.throwIfAborted();
  secrets.add(...secretValues(env, args));
  const closeMs = timeouts?.closeMs ?? 1_000;
  const process = startSupervisedProcess({ command, args, env, cwd, closeMs });
  const [stderr, strays] = [createOutputTail(secrets.scrub), createOutputTail(secrets.scrub)];
  process.stderr.setEncoding("utf8").on("data", (text: string) => stderr.append(text));
  let end: ProcessEnd | undefined;
  const ended = process.ended.then((how) => (end = how));
  return {
    process,
    ended,
    /** How it ended, if it has. */
    end: () => end,
    output: () => ({ stderr: stderr.quote(), strays: strays.quote() }),
    noteDropped: (line: Buffer, reason: string) => strays.append(describeDropped(line, reason)),
  };
}
