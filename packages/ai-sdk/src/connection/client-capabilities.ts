import { ElicitationRequestSchema, type MCPClient } from "@ai-sdk/mcp";
import type { ConnectionContext } from "./connection-options.ts";
import type { McpClientConnection } from "./define-connection.ts";

/** The capabilities that a client declares to the server. */
export function clientCapabilities({
  options,
}: {
  options: Pick<McpClientConnection["options"], "onElicitation" | "capabilities">;
}) {
  return {
    ...(options.onElicitation && { elicitation: {} }),
    ...options.capabilities,
  };
}

/** Makes a client answer elicitations with its definition's function. */
export function answerElicitations(
  client: MCPClient,
  { onElicitation }: Pick<McpClientConnection["options"], "onElicitation">,
  context: ConnectionContext,
): void {
  if (onElicitation === undefined) return;
  client.onElicitationRequest(ElicitationRequestSchema, (request) =>
    onElicitation(request, context),
  );
}

/** Whether the server may send requests of its own. They need an open stream. */
export function needsListening(definition: McpClientConnection): boolean {
  const capabilities = clientCapabilities(definition);
  return ["sampling", "elicitation", "roots"].some((name) => name in capabilities);
}
