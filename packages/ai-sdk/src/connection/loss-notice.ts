import type { SessionSlot } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { Tool } from "ai";

/** The text for the model, unless the definition has another. */
const defaultText =
  "Note: the server had lost the session. What it kept before (open pages, files, logins, selections) is gone; set up again what you still need.";

/** The mark in the `_meta` of the first tool result after a recovery. */
const metaKey = "durable-mcp/sessionReplaced";

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;
type ModelOutput = Awaited<ReturnType<ToModelOutput>>;

export interface LossNotice {
  /** For the model. */
  readonly text: string | undefined;
  /** For code: the `_meta` of an MCP result. */
  readonly meta: Readonly<Record<string, true>>;
}

/** Tells the model, in the next tool result, that the lost session's contents are gone. */
export interface LossNotices {
  /** The notice for a result of another form, if one is due. */
  take(): LossNotice | undefined;
  /** The result for code: with a mark in its metadata, if a notice is due. */
  mark(result: unknown, toolCallId: string): unknown;
  /** The result for the model. */
  tell(
    toModelOutput: ToModelOutput | undefined,
    result: Parameters<ToModelOutput>[0],
  ): Promise<ModelOutput>;
}

/**
 * @param slots the slots of the connection; a notice is due after one of them has lost its session
 * @param text for the model; with `false` results are only marked, for code
 */
export function createLossNotices(
  slots: readonly Pick<SessionSlot, "takeLossNotice">[],
  text: string | false = defaultText,
): LossNotices {
  /** Calls with results that have no metadata to mark, such as those of typed tools. */
  const marked = new Set<string>();
  const take = () => slots.filter((slot) => slot.takeLossNotice()).length > 0;

  return {
    take() {
      if (!take()) return undefined;
      return { text: text === false ? undefined : text, meta: { [metaKey]: true } };
    },
    mark(result, toolCallId) {
      if (!take()) {
        // Some models number their calls anew each time.
        marked.delete(toolCallId);
        return result;
      }
      marked.add(toolCallId);
      if (!isCallToolResult(result)) return result;
      return { ...result, _meta: { ...result["_meta"], [metaKey]: true } };
    },
    async tell(toModelOutput, result) {
      const { output, toolCallId } = result;
      const own: ModelOutput = (await toModelOutput?.(result)) ?? { type: "json", value: output };
      const isMarked =
        marked.has(toolCallId) || (isCallToolResult(output) && output["_meta"]?.[metaKey] === true);
      return isMarked && text !== false ? withText(text, own) : own;
    },
  };
}

function withText(text: string, output: ModelOutput): ModelOutput {
  const note = { type: "text" as const, text };
  switch (output.type) {
    case "content":
      return { ...output, value: [note, ...output.value] };
    case "text":
    case "error-text":
      return { ...output, value: `${text}\n\n${output.value}` };
    case "json":
      return {
        type: "content",
        value: [note, { type: "text", text: JSON.stringify(output.value) }],
      };
    default:
      return output;
  }
}

function isCallToolResult(
  value: unknown,
): value is Record<string, unknown> & { _meta?: Record<string, unknown> } {
  return isRecord(value) && Array.isArray(value["content"]);
}
