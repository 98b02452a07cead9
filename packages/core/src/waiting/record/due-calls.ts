import { isRecord } from "../../base/json-values.ts";
import { randomToken } from "../../base/random-token.ts";
import { textDigest } from "../../base/text-digest.ts";
import { type Principal, principalParts } from "../../session/principal.ts";
import { isNewerFormat, newerFormat } from "../../session/snapshot-shape.ts";
import { dueStart } from "../../stores/due-order.ts";
import type { SessionStore, StoredRecord, StoreListQuery } from "../../stores/session-store.ts";
import { waitingKeys, type WaitingOwner } from "./waiting-key.ts";
import { isOpen } from "./waiting-life.ts";
import { parseWaitingRecord, type WaitingRecord } from "./waiting-record.ts";

/** Where an open call is found. */
interface DueCall {
  readonly sessionId: string;
  readonly principal: Principal;
  readonly id: string;
  readonly connection: string;
}

/** An open call that an entry names, and whose it is. */
type EnteredCall = Exclude<Awaited<ReturnType<typeof readEntry>>, "gone" | undefined>;

/** How long a claim lasts without a sign of life of its process, in milliseconds. */
export const defaultClaimMs = 60_000;

/** No reference of ours is longer, in characters. */
const maxReferenceLength = 100;
const digestLength = 32;
/** The most that a store lists at a time. */
const maxPage = 1_000;
const dayMs = 86_400_000;
/** After what time it is tried again to look at a call at which nobody could, in milliseconds. */
const unseenMs = 600_000;
/** An entry goes so long after its call has expired, in milliseconds, if nobody meets it before. */
const keptMs = 30 * dayMs;

/** The start of the keys of an agent's entries. No session has such a key. */
export const prefixOf = (agent: string | null) => `${dueStart}${JSON.stringify(agent)}/`;

/** The key of a reference's entry. */
export const dueKey = (agent: string | null, reference: string) => prefixOf(agent) + reference;

/** The keys of the entries that a call has or had, from its record as it is stored. */
function keysOf(agent: string | null, value: unknown): string[] {
  const { due, step } = isRecord(value) ? value : {};
  const references = [...new Set([due, step])].filter((each) => typeof each === "string");
  return references.map((reference) => dueKey(agent, reference));
}

/**
 * How references of an agent session begin, and those of a principal in it. They name neither.
 *
 * @param of without a principal, of all
 */
export async function referenceStart({
  agent,
  sessionId,
  principal,
}: Omit<WaitingOwner, "principal"> & { readonly principal?: Principal | undefined }) {
  const whose = [[agent, sessionId], ...(principal ? [principalParts(principal)] : [])];
  const texts = whose.map((_, at) => JSON.stringify(whose.slice(0, at + 1)));
  const digests = await Promise.all(texts.map(textDigest));
  return digests.map((digest) => `${digest.slice(0, digestLength)}.`).join("");
}

/** Names a call's entry. Nobody learns from it whose call it is, or which. */
export async function createReference(of: WaitingOwner): Promise<string> {
  return (await referenceStart(of)) + randomToken();
}

/** Whether a call has an entry: somebody may have to look at it, answer it, or wait for it. */
function isListed(call: WaitingRecord | undefined): call is WaitingRecord & { due: string } {
  // A tool in which agents run waits for their calls, which have entries.
  return call?.due !== undefined && call.type !== "sub-agent" && isOpen(call);
}

/** When a call is next worth a look: at its server, at its process, or because its time is up. */
function lookAgainAt({ state, pollAfter, claim, expiresAt }: WaitingRecord): number {
  if (pollAfter !== undefined) return pollAfter;
  return state === "answering" && claim ? claim.at + defaultClaimMs : expiresAt;
}

/**
 * The entries of an agent's open calls, beside the calls: one query finds those that are due, whoever's they are. A
 * time of use only goes forward, so a call that is due earlier than before has another entry (`due`).
 */
export function createDueIndex(store: SessionStore, of: WaitingOwner) {
  const { agent, sessionId, principal } = of;
  const drop = async (reference: string) => await store.delete(dueKey(agent, reference));
  return {
    /**
     * Before a call is written, so that none is without its entry.
     *
     * @returns takes the entry back, if the call is not written
     */
    async prepare(next: WaitingRecord, before?: WaitingRecord) {
      if (!isListed(next) || (isListed(before) && before.due === next.due)) return undefined;
      const { id, connection, expiresAt, due } = next;
      const key = dueKey(agent, due);
      const value = { version: 1, sessionId, principal, id, connection };
      const owner = JSON.stringify(principalParts(principal));
      const use = { owner, expiresAt: expiresAt + keptMs, at: lookAgainAt(next) };
      const put = await store.put(key, value, null, use).catch(async (error: unknown) => {
        // It may have been done all the same.
        if ((await store.get(key).catch(() => undefined)) === undefined) throw error;
        return undefined;
      });
      return put?.ok
        ? async () => void (await store.delete(key).catch(() => undefined))
        : undefined;
    },
    /** Afterwards. What is not done here, the next look does. */
    async follow(next: WaitingRecord, before: WaitingRecord): Promise<void> {
      if (isListed(next) && next.due === before.due) {
        const at = lookAgainAt(next);
        if (at !== lookAgainAt(before)) await store.touch(dueKey(agent, next.due), at);
      } else if (isListed(before) && before.due !== next.step) await drop(before.due);
    },
    /** After a call is deleted. */
    async forget(call: WaitingRecord): Promise<void> {
      if (isListed(call)) await drop(call.due);
    },
  };
}

/** An agent's calls that are due, whoever's they are, each by its reference. */
function dueOf(store: SessionStore, agent: string | null) {
  const prefix = prefixOf(agent);
  return {
    /** The references of those that are due: one query. */
    async list(use: {
      readonly now: number;
      readonly limit: number;
      readonly cursor?: string | undefined;
    }): Promise<{ readonly references: string[]; readonly cursor?: string | undefined }> {
      const { now: idleSince, ...page } = use;
      const { records, cursor } = await store.list({ prefix, idleSince, ...page });
      return { references: records.map(({ key }) => key.slice(prefix.length)), cursor };
    },
    /**
     * The call of a reference; `undefined` if it is over, or the reference is nobody's.
     *
     * @throws {McpSessionError} `STATE_INVALID` for an entry of a later release
     */
    async read(reference: string): Promise<DueCall | undefined> {
      if (typeof reference !== "string" || reference.length > maxReferenceLength) return undefined;
      const stored = await store.get(dueKey(agent, reference));
      if (isNewerFormat(stored?.value)) throw newerFormat("The entry of a waiting call");
      return isRecord(stored?.value) ? (stored.value as unknown as DueCall) : undefined;
    },
    /**
     * After a look: drops an entry that leads to no open call, and moves one that is not its call's, or whose call has a
     * process that lives, or questions that stay although their time is up.
     */
    async followLook(
      reference: string,
      call: WaitingRecord | undefined,
      now: number,
    ): Promise<void> {
      const key = dueKey(agent, reference);
      // The step that made it has died: one that makes it again finds it.
      const isOfStep = call?.step === reference && !call.isDelivered && call.expiresAt > now;
      if (isOfStep && (!isListed(call) || call.due !== reference))
        return await store.touch(key, call.expiresAt);
      if (!isListed(call)) return void (await store.delete(key));
      // Another process writes a call that this entry is of, or was, and has not dropped it.
      if (call.due !== reference) return await store.touch(key, now + defaultClaimMs);
      // Nobody can look at it here: its connection is not declared, or has another URL. Others come first.
      const isUnseen = call.state === "waiting" && (call.pollAfter ?? now) <= now - defaultClaimMs;
      if (isUnseen) return await store.touch(key, now + unseenMs);
      if (call.pollAfter !== undefined || lookAgainAt(call) > now) return;
      await store.touch(key, now + (call.state === "answering" ? defaultClaimMs : dayMs));
    },
  };
}

/**
 * A page of open calls, filled to `limit`, as the store has them: of all agents, or of one, and there of an agent
 * session, of a principal, or of both.
 *
 * @returns `unread` is how many cannot be read: they are of a later release, or sealed with another key. `gone` is how
 *   many are not under their keys
 */
async function list(
  store: SessionStore,
  {
    agent,
    sessionId,
    principal,
  }: { readonly [P in keyof WaitingOwner]?: WaitingOwner[P] | undefined },
  { cursor: start, limit }: Pick<StoreListQuery, "cursor" | "limit">,
) {
  const isOfSession = agent !== undefined && sessionId !== undefined;
  const session = isOfSession ? await referenceStart({ agent, sessionId, principal }) : "";
  const prefix = agent === undefined ? dueStart : prefixOf(agent) + session;
  const owner = isOfSession ? undefined : principal && JSON.stringify(principalParts(principal));
  const calls: EnteredCall[] = [];
  let [cursor, unread, gone] = [start, 0, 0];
  do {
    const most = Math.min(limit - calls.length, maxPage);
    const page = await store.list({ prefix, owner, cursor, limit: most });
    for (const found of await Promise.all(page.records.map((entry) => readEntry(store, entry)))) {
      if (found === "gone") gone += 1;
      else if (found === undefined) unread += 1;
      // An entry may be left of a call that is over, or has another one by now.
      else if (isOpen(found.record) && found.record.due === found.reference) calls.push(found);
    }
    ({ cursor } = page);
  } while (cursor !== undefined && calls.length < limit);
  return { calls, unread, gone, cursor };
}

async function readEntry(store: SessionStore, { key, value, owner }: StoredRecord) {
  if (!isRecord(value) || isNewerFormat(value)) return undefined;
  const { sessionId, principal, id } = value as unknown as DueCall;
  // An agent may have any name, and no reference has a slash.
  const end = key.lastIndexOf("/");
  const agent = JSON.parse(key.slice(dueStart.length, end)) as string | null;
  const of = { agent, sessionId, principal };
  const callKey = waitingKeys.of(of, id);
  const stored = await store.get(callKey);
  if (stored === undefined) return "gone";
  const record = parseWaitingRecord(stored.value);
  return record && { ...of, id, key: callKey, reference: key.slice(end + 1), owner, record };
}

/** The entries of open calls, as all who look for calls use them. */
export const openCalls = { dueOf, list, keysOf, referenceStart, defaultClaimMs };
