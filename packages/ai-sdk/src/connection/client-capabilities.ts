import { ElicitationRequestSchema, type MCPClient } from "@ai-sdk/mcp";
import type { ConnectionContext } from "./connection-options.ts";
import type { McpClientConnection } from "./define-connection.ts";

/** What a client declares of itself to the server. */
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

/** Has a client answer elicitations as its definition says. */
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

/** Whether the server may send requests of its own, for which a stream has to be open. */
export function needsListening(definition: McpClientConnection): boolean {
  const capabilities = clientCapabilities(definition);
  return ["sampling", "elicitation", "roots"].some((name) => name in capabilities);
}
