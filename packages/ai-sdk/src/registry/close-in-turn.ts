import { within } from "@durable-mcp/core/internal";

/** Something open that is closed later. */
export interface Closable {
  close(): Promise<void>;
}

/** How long closing one waits for the one before it, in milliseconds. */
const turnMs = 1_000;

/**
 * Closes what was opened, the last one first, one after another. One that takes long does not keep
 * the next from beginning. Whatever is opened meanwhile is closed too.
 *
 * @param options.opened in the order in which it was opened; emptied
 * @param options.timeoutMs for all together, in milliseconds
 */
export async function closeInTurn({
  opened,
  timeoutMs,
}: {
  opened: Set<Closable>;
  timeoutMs: number;
}): Promise<void> {
  const closings: Promise<void>[] = [];
  const closeAll = async () => {
    for (let next = [...opened].at(-1); next !== undefined; next = [...opened].at(-1)) {
      opened.delete(next);
      const closing = next.close();
      closings.push(closing);
      await within(turnMs, closing);
    }
    await Promise.all(closings);
  };
  await within(timeoutMs, closeAll());
}
