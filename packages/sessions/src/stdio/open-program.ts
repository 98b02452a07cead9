import type { McpSessionError } from "@durable-mcp/core";
import { type JsonRpcMessage, isRecord, scrubJson } from "@durable-mcp/core/internal";
import { createConnectionSecrets } from "../connection/connection-secrets.ts";
import type {
  McpStdioConnectionOptions,
  ProgramUse,
  RunningProgram,
} from "../declare/stdio-connection-options.ts";
import { createStdioErrors } from "./stdio-errors.ts";
import { startServer } from "./start-server.ts";
import { createStdioTransport } from "./stdio-transport.ts";

/** Starts a program for somebody who has a client, and needs none. @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
export async function openProgram(
  options: McpStdioConnectionOptions,
  { connection, principal, onMessage, onLost }: ProgramUse,
): Promise<RunningProgram> {
  const { connectMs = 30_000 } = options.timeouts ?? {};
  const errors = createStdioErrors(connection, options);
  const secrets = createConnectionSecrets();
  const context = { connection, principal, abortSignal: new AbortController().signal };
  const server = await startServer({ options, context, connectMs, errors, secrets });
  const { process, output } = server;

  /** By the `data` of errors that say of a request that the program has ended. */
  const lost = new WeakMap<object, McpSessionError>();
  const transport = createStdioTransport(process, {
    failureData({ method }, why) {
      const data = {};
      const end = server.end();
      if (why === undefined && end) lost.set(data, errors.outcomeUnknown(method, end, output()));
      return data;
    },
    notReading: () => errors.notReading(output()),
    onAnswer: () => undefined,
    onNotification: (method, params) =>
      onMessage({ jsonrpc: "2.0", method, ...(isRecord(params) && { params }) }),
    onDropped: server.noteDropped,
    toServer: (message) => message,
    toClient: (error) => scrubJson(error, secrets.scrub, ["code", "message", "data"]) as object,
  });
  Object.assign(transport, {
    onmessage(message: JsonRpcMessage) {
      const { error } = message as { readonly error?: { readonly data?: object } };
      const why = error?.data && lost.get(error.data);
      if (why && "id" in message) onLost(message.id!, why);
      else onMessage(message);
    },
  });
  await transport.start();
  return {
    send: async (message, signal) => await transport.send(message, signal && { signal }),
    exited: process.exited,
    failure(cause) {
      const end = server.end();
      if (end?.type === "not-started") return errors.notStarted(end.reason);
      return end ? errors.endedEarly(end, output()) : errors.silent(connectMs, output(), cause);
    },
    close: async () => await transport.close(),
  };
}
