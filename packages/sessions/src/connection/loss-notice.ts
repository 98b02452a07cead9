import type { SessionSlot } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";

/** The text for the model, unless the definition has another. */
const defaultText =
  "Note: the server had lost the session. What it kept before (open pages, files, logins, selections) is gone; set up again what you still need.";

/** The mark in the `_meta` of the first tool result after a recovery. */
const metaKey = "durable-mcp/sessionReplaced";

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
  /** The text for the model that belongs to a result which was marked; `undefined` for none. */
  textFor(result: unknown, toolCallId: string): string | undefined;
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
    textFor(result, toolCallId) {
      const isMarked =
        marked.has(toolCallId) || (isCallToolResult(result) && result["_meta"]?.[metaKey] === true);
      return isMarked && text !== false ? text : undefined;
    },
  };
}

function isCallToolResult(
  value: unknown,
): value is Record<string, unknown> & { _meta?: Record<string, unknown> } {
  return isRecord(value) && Array.isArray(value["content"]);
}
