import { chatPrefix, deleteChats } from "../records/chat-records.ts";
import type { SessionSelection, SharedId } from "../records/session-reports.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";

/**
 * Deletes the messages of a chat, unless only a part of its sessions ends.
 *
 * @param selected without a principal, those of all
 */
export async function endChat(
  { store, agent, carried }: SessionsContext,
  of: string | SharedId,
  { principal, connection, name }: Partial<SessionSelection>,
): Promise<void> {
  const isPart = connection !== undefined || name !== undefined || carried !== undefined;
  if (isPart || typeof of !== "string") return;
  await deleteChats(store, { prefix: await chatPrefix({ agent, sessionId: of, principal }) });
}
