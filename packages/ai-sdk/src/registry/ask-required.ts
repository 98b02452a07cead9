import { McpSessionError } from "@durable-mcp/core";
import type { LiveConnection } from "../connection/live-connection.ts";

const answered = new WeakMap<LiveConnection, Promise<void>>();

export function isRequired({ definition }: LiveConnection): boolean {
  return definition.options.required === true;
}

/** The error of a required connection that is unavailable. */
export function requiredUnavailable(
  { code, message, data, cause }: McpSessionError,
  name: string,
): McpSessionError {
  const why = message.replace(`Connection ${name}: `, "");
  return new McpSessionError(code, `Connection ${name} is required: ${why}`, { data, cause });
}

/**
 * Asks the server of a required connection, once a step, because a kept tool list would answer in its
 * place. A failure is not kept.
 *
 * @throws the reason why the server did not answer
 */
export async function askRequired(connection: LiveConnection): Promise<void> {
  if (!isRequired(connection)) return;
  const known = answered.get(connection);
  if (known !== undefined) return await known;
  const asking = connection.inConnectTime(connection.abortSignal, (signal) =>
    connection.withRecovery(undefined, () => connection.ask(signal)),
  );
  answered.set(connection, asking);
  try {
    await asking;
  } catch (error) {
    answered.delete(connection);
    throw connection.restoreError(error);
  }
}
