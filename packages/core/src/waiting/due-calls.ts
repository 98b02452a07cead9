import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { type Principal, principalParts } from "../session/principal.ts";
import { isNewerFormat, newerFormat } from "../session/snapshot-shape.ts";
import type { SessionStore } from "../stores/session-store.ts";
import type { WaitingOwner } from "./waiting-key.ts";
import { isKeptByServer } from "./waiting-life.ts";
import type { WaitingRecord } from "./waiting-record.ts";

/** Where a call is found that can be looked at. */
export interface DueCall {
  readonly sessionId: string;
  readonly principal: Principal;
  readonly id: string;
  readonly connection: string;
}

/** The start of the keys of an agent's entries. No session has such a key. */
const prefixOf = (agent: string | null) => `due/${JSON.stringify(agent)}/`;

/** Whether somebody has to look at a call, until it is over or asks a person. */
const isOpen = (call: WaitingRecord | undefined) => call?.due !== undefined && isKeptByServer(call);

/** No reference of ours is longer, in characters. */
const maxReferenceLength = 100;

/**
 * The entries of an agent's calls that can be looked at, beside the calls: one query finds those that are due,
 * whoever's they are. A store whose values can be read has none, because an entry names the principal.
 */
export function createDueIndex(store: SessionStore, of: WaitingOwner) {
  if (!store.encrypted) return undefined;
  const { agent, sessionId, principal } = of;
  const keyOf = ({ due }: WaitingRecord) => prefixOf(agent) + due!;
  return {
    /** Before a call is written, so that none is without its entry. */
    async prepare(next: WaitingRecord, before?: WaitingRecord): Promise<void> {
      if (!isOpen(next) || isOpen(before)) return;
      const { id, connection, expiresAt, pollAfter } = next;
      const value = { version: 1, sessionId, principal, id, connection };
      const owner = JSON.stringify(principalParts(principal));
      await store.put(keyOf(next), value, null, {
        owner,
        expiresAt: expiresAt + dayMs,
        at: pollAfter,
      });
    },
    /** Afterwards. What is not done here, the next look does. */
    async follow(next: WaitingRecord, before: WaitingRecord): Promise<void> {
      if (isOpen(next)) {
        if (next.pollAfter !== before.pollAfter) await store.touch(keyOf(next), next.pollAfter!);
      } else if (before.due !== undefined) await store.delete(keyOf(before));
    },
  };
}

/** Nobody looks at a call for so long after it has expired, in milliseconds (1 day). */
const dayMs = 86_400_000;

/** The references of an agent's calls that are due: one query. */
export async function listDue(
  store: SessionStore,
  agent: string | null,
  use: { readonly now: number; readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ readonly references: string[]; readonly cursor?: string | undefined }> {
  const prefix = prefixOf(agent);
  const { now: idleSince, ...page } = use;
  const { records, cursor } = await store.list({ prefix, idleSince, ...page });
  return { references: records.map(({ key }) => key.slice(prefix.length)), cursor };
}

/**
 * The call of a reference; `undefined` if it is over, or the reference is nobody's.
 *
 * @throws {McpSessionError} `STATE_INVALID` for an entry of a later release
 */
export async function readDue(
  store: SessionStore,
  agent: string | null,
  reference: string,
): Promise<DueCall | undefined> {
  if (typeof reference !== "string" || reference.length > maxReferenceLength) return undefined;
  const stored = await store.get(prefixOf(agent) + reference);
  if (isNewerFormat(stored?.value)) throw newerFormat("The entry of a waiting call");
  return isRecord(stored?.value) ? (stored.value as unknown as DueCall) : undefined;
}

/** The key of a reference's entry. */
export const dueKey = (agent: string | null, reference: string) => prefixOf(agent) + reference;

/** @throws {McpSessionError} `CONNECTION_INVALID` for a store whose values anybody with access can read */
export function checkEncrypted(store: SessionStore): void {
  if (store.encrypted) return;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "store must be encrypted (encryptStore) for the calls of all users: an entry for each names its principal. Look at a user's own calls with check(sessionId, { principal }).",
    { data: { field: "store" } },
  );
}
