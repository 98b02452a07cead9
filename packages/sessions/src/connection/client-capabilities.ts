import { isRecord, isSafeQuestion, sameJson, urlsWanted } from "@durable-mcp/core/internal";
import type { ClientConfig, ElicitationRequest } from "../base/mcp-client.ts";
import type { ConnectionClientInfo } from "../declare/connection-options.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type { McpClientConnection } from "../declare/define-connection.ts";
import type { PausableLimits } from "./pausable-limits.ts";

type ClientOptions = Pick<
  McpClientConnection["options"],
  "onElicitation" | "capabilities" | "client"
>;

/** The capabilities that a client declares to the server. */
function clientCapabilities({ onElicitation, capabilities }: ClientOptions) {
  return { ...(onElicitation && { elicitation: {} }), ...capabilities };
}

/** Who connects, for `initialize`. */
export function clientInfo({
  client = { name: "durable-mcp", version: "1.0.0" },
}: Pick<McpClientConnection["options"], "client">): ConnectionClientInfo {
  return client;
}

/** The same, with the capabilities. */
export function clientDescription(options: ClientOptions) {
  const { name, version } = clientInfo(options);
  return { clientName: name, version, capabilities: clientCapabilities(options) };
}

/** The names of declared capabilities that a session was made without, wholly or in part. */
export function missingCapabilities(
  options: ClientOptions,
  made: Readonly<Record<string, unknown>>,
): string[] {
  const declared = Object.entries(clientCapabilities(options));
  return declared.flatMap(([name, value]) => (covers(made[name], value) ? [] : [name]));
}

/** More than is declared is no difference, or two releases at once would replace each other's sessions. */
function covers(made: unknown, declared: unknown): boolean {
  if (declared === undefined) return true;
  if (!isRecord(declared)) return sameJson(made, declared);
  if (!isRecord(made)) return false;
  return Object.entries(declared).every(([name, value]) => covers(made[name], value));
}

/** Answers elicitations with a definition's function. The limits of calls stand still meanwhile. */
export function answerElicitations(
  { onElicitation }: ClientOptions,
  context: ConnectionContext,
  { paused }: PausableLimits,
): Pick<ClientConfig, "onElicitation"> {
  if (onElicitation === undefined) return {};
  return {
    async onElicitation(request) {
      if (isSafeQuestion(request)) return await paused(() => onElicitation(request, context));
      throw new Error("The URL must begin with http: or https:, without a user name or password.");
    },
  };
}

/**
 * Has a definition's function answer a refusal that sends a person to a URL. Only consent to all of its URLs is a yes.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
export function answerRefusals(
  { onElicitation }: ClientOptions,
  context: ConnectionContext,
  { paused }: PausableLimits,
) {
  return async (error: unknown): Promise<boolean> => {
    const { requests = {} } = (onElicitation && urlsWanted(error)) ?? {};
    for (const request of Object.values(requests)) {
      const question = request as ElicitationRequest;
      const { action } = await paused(() => onElicitation!(question, context));
      if (action !== "accept") return false;
    }
    return Object.keys(requests).length > 0;
  };
}

/** Whether the server may send requests of its own. They need an open stream. */
export function needsListening(options: ClientOptions): boolean {
  const capabilities = clientCapabilities(options);
  return ["sampling", "elicitation", "roots"].some((name) => name in capabilities);
}
