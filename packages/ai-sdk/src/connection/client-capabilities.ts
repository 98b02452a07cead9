import { ElicitationRequestSchema, type MCPClient } from "@ai-sdk/mcp";
import type { ConnectionContext } from "./connection-options.ts";
import type { McpClientConnection } from "./define-connection.ts";

type ClientOptions = Pick<McpClientConnection["options"], "onElicitation" | "capabilities">;

/** The capabilities that a client declares to the server. */
export function clientCapabilities({ onElicitation, capabilities }: ClientOptions) {
  return { ...(onElicitation && { elicitation: {} }), ...capabilities };
}

/** Makes a client answer elicitations with its definition's function. */
export function answerElicitations(
  client: MCPClient,
  { onElicitation }: ClientOptions,
  context: ConnectionContext,
): void {
  if (onElicitation === undefined) return;
  client.onElicitationRequest(ElicitationRequestSchema, (request) =>
    onElicitation(request, context),
  );
}

/** Whether the server may send requests of its own. They need an open stream. */
export function needsListening(options: ClientOptions): boolean {
  const capabilities = clientCapabilities(options);
  return ["sampling", "elicitation", "roots"].some((name) => name in capabilities);
}
