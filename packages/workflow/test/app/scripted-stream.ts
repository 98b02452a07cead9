interface ModelCall {
  readonly tool: string;
  readonly input?: unknown;
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/**
 * What a model streams whose prompt says, as JSON, which calls it makes, turn by turn, and that ends with "done". The
 * parts are the same in revisions 3 and 4 of the interface.
 */
export function scriptedStream(
  prompt: readonly { readonly role: string; readonly content: unknown }[],
): ReadableStream {
  const said = prompt.find(({ role }) => role === "user")!;
  const turns = JSON.parse((said.content as { text: string }[])[0]!.text) as ModelCall[][];
  const calls = turns[prompt.filter(({ role }) => role === "tool").length];
  const parts = calls
    ? calls.map(({ tool, input = {} }) => ({
        type: "tool-call",
        toolCallId: crypto.randomUUID(),
        toolName: tool,
        input: JSON.stringify(input),
      }))
    : [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "done" },
        { type: "text-end", id: "1" },
      ];
  const finishReason = { unified: calls ? "tool-calls" : "stop", raw: undefined };
  const all = [
    { type: "stream-start", warnings: [] },
    ...parts,
    { type: "finish", finishReason, usage },
  ];
  return new ReadableStream({
    start(controller) {
      for (const part of all) controller.enqueue(part);
      controller.close();
    },
  });
}
