/**
 * Makes a call, as an application does by hand, or has a model of AI SDK make it.
 *
 * @returns the text of its result
 */
export async function useTool(tools, name, hasModel) {
  if (!hasModel) {
    const { content } = await tools[name].execute({}, { toolCallId: "call-1", messages: [] });
    return content[0].text;
  }
  const { generateText, stepCountIs } = await import("ai");
  const tokens = { total: 1 };
  const answers = [
    [{ type: "tool-call", toolCallId: "call-1", toolName: name, input: "{}" }, "tool-calls"],
    [{ type: "text", text: "Counted." }, "stop"],
  ];
  const { steps } = await generateText({
    model: {
      ...{ specificationVersion: "v3", provider: "scripted", modelId: "scripted" },
      supportedUrls: {},
      async doGenerate() {
        const [part, unified] = answers.shift();
        const finishReason = { unified, raw: undefined };
        const usage = { inputTokens: tokens, outputTokens: tokens };
        return { content: [part], finishReason, usage, warnings: [] };
      },
    },
    tools,
    prompt: "Count.",
    stopWhen: stepCountIs(2),
  });
  return steps[0].toolResults[0].output.content[0].text;
}
