import { openCalls as open, parseWaitingRecord } from "@durable-mcp/core/waiting/internal";
import { parseRecordOwner, describeRecord, recordPrefix } from "../records/slot-record.ts";
import type { SharedId } from "../records/session-reports.ts";
import { listRecords } from "../records/stored-records.ts";
import type { DurableSessionsAdmin } from "../management/sessions-admin.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { isOpen } from "../waiting/stored-calls.ts";
import { toolOf, waitsFor } from "./call-words.ts";
import { markup } from "./markup.ts";
import type { Operator } from "./guards.ts";
import { link, moment, type Page, table } from "./page.ts";

/** What each page is made from. */
export interface Look {
  readonly context: SessionsContext;
  readonly admin: DurableSessionsAdmin;
  readonly operator: Operator;
  readonly query: URLSearchParams;
  readonly now: number;
  /** For forms. */
  readonly token: string;
  readonly names: StudioNames | undefined;
}

/** Names in the place of the application's own ids. */
export interface StudioNames {
  /**
   * The name that a page shows.
   *
   * @param text the id of a chat, or the store's name of a user
   */
  readonly show: (kind: "chat" | "user", text: string) => string;
  /** What a name was shown for. */
  readonly find: (name: string) => string | undefined;
}

/** The most that a store lists at a time. */
const pageSize = 1_000;

/** A chat, or the id under which chats share a session. */
export type ChatName = string | SharedId;

type Names = Pick<Look, "names">;

const shown = ({ names }: Names, id: string) => names?.show("chat", id) ?? id;

export function queryOf(look: Names, of: ChatName) {
  if (typeof of === "string") return { page: "chat", chat: shown(look, of) };
  return { page: "chat", shared: shown(look, of.shared) };
}

export const nameOf = (look: Names, of: ChatName) =>
  typeof of === "string" ? shown(look, of) : `shared: ${shown(look, of.shared)}`;

/** A user as the store knows them: encrypted ones keep a fingerprint. */
export function userOf({ names }: Names, owner: string): string {
  const principal = parseRecordOwner(owner);
  if (principal === undefined) return "(fingerprint)";
  if (names !== undefined && principal.type === "user") return names.show("user", owner);
  return principal.type === "user" ? `${principal.id} (${principal.issuer})` : principal.type;
}

interface ListedChat {
  readonly of: ChatName;
  readonly owner: string;
  readonly connections: Map<string, string>;
  lastUsedAt: number;
  waits: number;
}

/** A thousand chats, or what so many operations of the store list. */
export async function chatsPage(look: Look): Promise<Page> {
  const { context, query, now, names } = look;
  const named = query.get("user") ?? undefined;
  const user = named && (names ? names.find(named) : named);
  const chats = new Map<string, ListedChat>();
  const chatOf = (of: ChatName, owner: string, usedAt: number) => {
    const key = JSON.stringify([of, owner]);
    const chat = chats.get(key) ?? { of, owner, connections: new Map(), lastUsedAt: 0, waits: 0 };
    chats.set(key, chat);
    chat.lastUsedAt = Math.max(chat.lastUsedAt, usedAt);
    return chat;
  };
  const prefix = recordPrefix(context.agent);
  let cursor = query.get("cursor") ?? undefined;
  let left = 8;
  do {
    const of = { prefix, owner: user, cursor, limit: pageSize };
    const found = await listRecords(context.store, of);
    for (const record of found.records) {
      const { sessionId, shared, connection, name } = record.of;
      const chat = chatOf(sessionId ?? { shared: shared ?? "" }, record.owner, record.lastUsedAt);
      const called = name === undefined ? connection : `${connection} / ${name}`;
      chat.connections.set(called, describeRecord(record).kind);
    }
    for (const { of: whose, owner, value, lastUsedAt } of found.waiting) {
      const call = parseWaitingRecord(value);
      const chat = chatOf(whose.sessionId, owner, lastUsedAt);
      if (call && isOpen({ call }) && call.type !== "sub-agent") chat.waits += 1;
    }
    ({ cursor } = found);
    left -= 1;
  } while (cursor !== undefined && chats.size < pageSize && left > 0);
  const rows = [...chats.values()]
    .toSorted((one, other) => other.lastUsedAt - one.lastUsedAt)
    .map(({ of, owner, connections, lastUsedAt, waits }) => [
      link(queryOf(look, of), nameOf(look, of)),
      parseRecordOwner(owner)
        ? link({ page: "chats", user: names?.show("user", owner) ?? owner }, userOf(look, owner))
        : userOf(look, owner),
      Array.from(connections, ([name, kind]) => `${name}: ${kinds[kind] ?? kind}`).join("; "),
      waits > 0 ? `${waits}` : "–",
      moment(lastUsedAt, now),
    ]);
  const head = ["Chat", "User", "Connections", "Waiting calls", "Last used"];
  const body = markup`<form method="get" class="find"><input type="hidden" name="page" value="chat" /><div><label for="chat">A chat's id</label><input id="chat" name="chat" required /></div><button>Open</button></form>${user !== undefined && markup`<p>Of ${userOf(look, user)}. ${link({ page: "chats" }, "All users")}</p>`} ${table("Chats", head, rows, query.has("cursor") ? "There are no more chats." : "There are no chats.")} ${more(cursor, { page: "chats", user: named })}`;
  return { title: "Chats", body };
}

/** The kinds of sessions, in words. */
export const kinds: Readonly<Record<string, string>> = {
  session: "a session",
  lost: "none (ended or lost)",
  sessionless: "the server gives none",
  stateless: "the server has none",
  remembered: "none, with a kept tool list",
  invalid: "cannot be read",
  newer: "of a later release",
};

function more(cursor: string | undefined, query: Readonly<Record<string, string | undefined>>) {
  return cursor !== undefined && markup`<p>${link({ ...query, cursor }, "More")}</p>`;
}

/** The calls that are open, those that began first are first: two operations of a store that reads many at once. */
async function openCalls({ context: { store, agent }, query }: Look) {
  const page = { cursor: query.get("cursor") ?? undefined, limit: pageSize };
  const { calls, unread, cursor } = await open.list(store, { agent }, page);
  return {
    calls: calls.toSorted((one, other) => one.record.askedAt - other.record.askedAt),
    hidden: unreadCalls(unread),
    cursor,
  };
}

export function unreadCalls(count: number) {
  const calls = count === 1 ? "1 call" : `${count} calls`;
  return (
    count > 0 && markup`<p>${calls} cannot be read: without the key, or of a later release.</p>`
  );
}

export async function waitsPage(look: Look): Promise<Page> {
  const { now } = look;
  const { calls, hidden, cursor } = await openCalls(look);
  const rows = calls.map(({ sessionId, owner, record }) => [
    link(queryOf(look, sessionId), nameOf(look, sessionId)),
    userOf(look, owner),
    `${record.connection}: ${toolOf(record)}`,
    waitsFor(record, now),
    moment(record.askedAt, now),
    moment(record.expiresAt, now),
  ]);
  const head = ["Chat", "User", "Call", "Waits for", "Since", "Given up"];
  const list = table("What waits", head, rows, "Nothing waits.");
  return { title: "What waits", body: markup`${list}${hidden}${more(cursor, { page: "waits" })}` };
}

/** Once for a user, with the chats that need it. Only the user learns where it starts. */
export async function signInsPage(look: Look): Promise<Page> {
  const { calls, hidden, cursor } = await openCalls(look);
  const parked = calls.filter(({ record }) => record.type === "call-waits-for-sign-in");
  const rows = Array.from(
    Map.groupBy(parked, ({ owner }) => owner),
    ([owner, own]) => {
      const servers = Map.groupBy(
        own,
        ({ record: { connection, url } }) => `${connection} (${new URL(url).origin})`,
      );
      const needs = Array.from(servers, ([server, same]) => {
        const chats = Array.from(new Set(same.map(({ sessionId }) => sessionId)), (chat) => [
          link(queryOf(look, chat), nameOf(look, chat)),
          " ",
        ]);
        return markup`<div>${server}: ${chats}</div>`;
      });
      return [userOf(look, owner), needs, moment(own[0]!.record.askedAt, look.now)];
    },
  );
  const head = ["User", "Signs in to, for the chats", "Since"];
  const list = table("Sign-ins", head, rows, "No call waits for a sign-in.");
  const body = markup`<p>Only the user can sign in, in the application.</p>${list}${hidden}${more(cursor, { page: "sign-ins" })}`;
  return { title: "Sign-ins", body };
}
