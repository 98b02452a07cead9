import type { CallNotes } from "@durable-mcp/core/waiting/internal";
import { isRecord, randomToken } from "@durable-mcp/core/internal";

/** The argument that names the notes, between the caller of a client and its transport. */
const markKey = "durable-mcp/call";

interface Message {
  readonly params?: Record<string, unknown>;
}

/**
 * Hands what the caller of a client knows of a call to the client's fetch. Clients have no place for it, so the
 * notes' name travels in the call's arguments.
 */
export function createCallNotes() {
  const all = new Map<string, CallNotes>();
  const prefix = randomToken();
  let count = 0;

  return {
    /** Makes a call with notes. */
    async noting<T>(
      notes: CallNotes,
      input: unknown,
      call: (marked: unknown) => PromiseLike<T>,
    ): Promise<T> {
      count += 1;
      const mark = `${prefix}.${count}`;
      let failure: unknown;
      all.set(mark, { ...notes, onFailure: (error) => void (failure = error) });
      try {
        return await call({ ...(input as object | undefined), [markKey]: mark });
      } catch (error) {
        // Of an error in an answer stream clients only have the words.
        throw failure ?? error;
      } finally {
        all.delete(mark);
      }
    },
    /** Takes the mark out of a request. The model cannot name notes, because it does not know the prefix. */
    take<MESSAGE extends Message>(message: MESSAGE): { message: MESSAGE; notes: CallNotes } {
      const marked = message.params?.["arguments"];
      const mark = isRecord(marked) ? marked[markKey] : undefined;
      const notes = typeof mark === "string" ? all.get(mark) : undefined;
      if (notes === undefined) return { message, notes: {} };
      const { [markKey]: _, ...input } = marked as Record<string, unknown>;
      return { message: { ...message, params: { ...message.params, arguments: input } }, notes };
    },
  };
}
