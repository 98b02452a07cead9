import { scriptedModel } from "@durable-mcp/testing/ai-sdk";

/** A model that calls a tool and then says a text; `hold` is awaited before the text. */
export function streamingModel({
  tool = "notes__list_notes",
  input = {},
  hold = () => Promise.resolve(),
}: { tool?: string; input?: object; hold?: () => Promise<void> } = {}) {
  return scriptedModel([{ tool, input }], () => hold().then(() => "done"));
}
