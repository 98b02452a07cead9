import {
  type Connections,
  type ConnectionProvider as ProviderOfAnyFace,
  type ConnectionProviderOptions,
  createConnectionProvider as createProvider,
  createDurableSessions as createSessions,
  type DurableSessions as SessionsOfAnyFace,
  type DurableSessionsOptions,
  type SessionUse,
  type ToolFace,
} from "@durable-mcp/sessions";
import type { ConnectionRun, OpenRun } from "./connection-run.ts";
import { dressTool } from "../tool-set/dress-tool.ts";

/** The tools of a run as those of AI SDK, and its messages. */
const aiSdkFace: ToolFace = {
  dress: dressTool,
  async resume(of, scope, messages, options) {
    const { resumeMessages } = await import("../messages/resume-messages.ts");
    return await resumeMessages(of, scope, messages, options as never);
  },
};

/** Builds a step's run from state, and writes the changes back into it. */
export interface ConnectionProvider<
  CONNECTIONS extends Connections = Connections,
> extends ProviderOfAnyFace<CONNECTIONS, ConnectionRun<CONNECTIONS>> {}

/**
 * The sessions of an agent, kept in a store. Every method takes the principal and sees only its sessions. It
 * rejects with `STORE_FAILED` if the store fails.
 */
export interface DurableSessions<
  CONNECTIONS extends Connections = Connections,
> extends SessionsOfAnyFace<CONNECTIONS, ConnectionRun<CONNECTIONS>> {
  open(sessionId: string, use: SessionUse): Promise<OpenRun<CONNECTIONS>>;
}

/**
 * Creates the provider of an application's connections. Call it once, at start.
 *
 * @example
 * const provider = createConnectionProvider({ connections });
 * const { result, session } = await provider.run({ session: loaded, principal }, async (run) =>
 *   generateText({ model, tools: await run.tools(), prompt, stopWhen: stepCountIs(10) }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the connection and the field
 */
export function createConnectionProvider<CONNECTIONS extends Connections>(
  options: ConnectionProviderOptions<CONNECTIONS>,
): ConnectionProvider<CONNECTIONS> {
  return createProvider(options, aiSdkFace);
}

/**
 * Creates the sessions of an agent, kept in a store. Call it once, at start.
 *
 * @example
 * const sessions = createDurableSessions({ connections, store });
 * await sessions.run(chatId, { principal }, async (run) =>
 *   generateText({ model, tools: await run.tools(), prompt, stopWhen: stepCountIs(10) }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createDurableSessions<CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): DurableSessions<CONNECTIONS> {
  return createSessions(options, aiSdkFace);
}
