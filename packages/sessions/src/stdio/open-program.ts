import { type JsonRpcMessage, isRecord, scrubJson } from "@durable-mcp/core/internal";
import { createConnectionSecrets } from "../connection/connection-secrets.ts";
import type {
  McpStdioConnectionOptions,
  ProgramUse,
  RunningProgram,
} from "../declare/stdio-connection-options.ts";
import { resolveEnvironment, secretValues } from "./server-environment.ts";
import { createOutputTail, createStdioErrors, describeDropped } from "./stdio-errors.ts";
import { createStdioTransport } from "./stdio-transport.ts";
import { type ProcessEnd, startSupervisedProcess } from "./supervised-process.ts";

/** Starts a program for somebody who has a client, and needs none. @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
export async function openProgram(
  options: McpStdioConnectionOptions,
  { connection, principal, onMessage, onLost }: ProgramUse,
): Promise<RunningProgram> {
  const { command, args = [], cwd, timeouts } = options;
  const connectMs = timeouts?.connectMs ?? 30_000;
  const errors = createStdioErrors(connection, options);
  const secrets = createConnectionSecrets();
  const { scrub } = secrets;
  const context = { connection, principal, abortSignal: new AbortController().signal };
  const env = await resolveEnvironment({ options, context, connectMs, errors });
  secrets.add(...secretValues(env, args));
  const closeMs = timeouts?.closeMs ?? 1_000;
  const process = startSupervisedProcess({ command, args, env, cwd, closeMs });
  const [stderr, strays] = [createOutputTail(scrub), createOutputTail(scrub)];
  process.stderr.setEncoding("utf8").on("data", (text: string) => stderr.append(text));
  const output = () => ({ stderr: stderr.quote(), strays: strays.quote() });
  let end: ProcessEnd | undefined;
  void process.ended.then((how) => (end = how));

  /** The `data` of errors that say of a request that the program has ended. */
  const lost = new WeakSet();
  const transport = createStdioTransport(process, {
    failureData(_, why) {
      const data = {};
      if (why === undefined) lost.add(data);
      return data;
    },
    notReading: () => errors.notReading(output()),
    onAnswer: () => undefined,
    onNotification: (method, params) =>
      onMessage({ jsonrpc: "2.0", method, ...(isRecord(params) && { params }) }),
    onDropped: (line, reason) => strays.append(describeDropped(line, reason)),
    toServer: (message) => message,
    toClient: (error) => scrubJson(error, scrub, ["code", "message", "data"]) as object,
  });
  Object.assign(transport, {
    onmessage(message: JsonRpcMessage) {
      const { error } = message as { readonly error?: { readonly data?: object } };
      if (error?.data && lost.has(error.data) && "id" in message) onLost(message.id!);
      else onMessage(message);
    },
  });
  await transport.start();
  return {
    send: async (message, signal) => await transport.send(message, signal && { signal }),
    exited: process.exited,
    failure(cause) {
      if (end?.type === "not-started") return errors.notStarted(end.reason);
      return end ? errors.endedEarly(end, output()) : errors.silent(connectMs, output(), cause);
    },
    close: async () => await transport.close(),
  };
}
