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

/** Whether the server may send requests of its own, for which a stream has to be open. */
export function needsListening(definition: McpClientConnection): boolean {
  const capabilities = clientCapabilities(definition);
  return ["sampling", "elicitation", "roots"].some((name) => name in capabilities);
}
