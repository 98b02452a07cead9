import { type Principal, principalParts, type SessionStore } from "@durable-mcp/core";
import { deleteAll } from "../base/delete-all.ts";
import { loadWaiting } from "../waiting/stored-calls.ts";

/** Where the records of chats are. No session has such a key, and no list of sessions reads them. */
const start = "chat/";
/** The most that a store lists at a time. */
const pageSize = 1_000;

/** The start of a chat's keys, which name neither it nor its user; without a principal, of those of all. */
export async function chatPrefix(of: {
  readonly agent: string | null;
  readonly sessionId: string;
  readonly principal?: Principal | undefined;
}): Promise<string> {
  const { openCalls } = await loadWaiting();
  return `${start}${JSON.stringify(of.agent)}/${await openCalls.referenceStart(of)}`;
}

/** Another one than of the principal's sessions, whose lists would read all messages. */
export function chatRecordsOwner(principal: Principal): string {
  return JSON.stringify(["chat", ...principalParts(principal)]);
}

/** Deletes all chats of an owner, or those whose keys begin so. @throws {McpSessionError} `STORE_FAILED` */
export async function deleteChats(
  store: SessionStore,
  which: { readonly owner: string } | { readonly prefix: string },
): Promise<void> {
  const keys: { readonly key: string }[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ prefix: start, ...which, cursor, limit: pageSize });
    keys.push(...page.records.map(({ key }) => ({ key })));
    ({ cursor } = page);
  } while (cursor !== undefined);
  await deleteAll(store, keys);
}
