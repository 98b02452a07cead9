import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { UIMessage } from "ai";
import type { ChatMessage } from "./chat-message";

/** Whether an answer is being made, by any process. `interrupted`: its process is gone. */
export type Answering = "no" | "yes" | "interrupted";

/** The messages of all chats, and who is answering in which. A chat belongs to its user. */
export interface History {
  readonly read: (user: string, chat: string) => ChatMessage[];
  /** Adds messages, and replaces those whose ids are there. */
  readonly save: (user: string, chat: string, messages: readonly UIMessage[]) => void;
  /** Claims the next answer. `false` if another request is making it. */
  readonly begin: (user: string, chat: string) => boolean;
  /** A sign of life while an answer is made. `false` once the user wants it to stop. */
  readonly goOn: (user: string, chat: string) => boolean;
  readonly stop: (user: string, chat: string) => void;
  readonly end: (user: string, chat: string) => void;
  readonly answering: (user: string, chat: string) => Answering;
}

/** A process without a sign of life for so long is gone. */
const aliveMs = 10_000;

export function openHistory(path: string): History {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS chat_messages (
      user TEXT, chat TEXT, id TEXT, message TEXT NOT NULL, PRIMARY KEY (user, chat, id));
    CREATE TABLE IF NOT EXISTS chat_answers (
      user TEXT, chat TEXT, until INTEGER NOT NULL, is_stopped INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (user, chat))`);
  const select = database.prepare(
    "SELECT message FROM chat_messages WHERE user = ? AND chat = ? ORDER BY rowid",
  );
  const upsert = database.prepare(`INSERT INTO chat_messages VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET message = excluded.message WHERE message <> excluded.message`);
  const claim = database.prepare(`INSERT INTO chat_answers VALUES (?, ?, ?, 0)
    ON CONFLICT DO UPDATE SET until = excluded.until, is_stopped = 0 WHERE until < ?`);
  const renew = database.prepare(
    "UPDATE chat_answers SET until = ? WHERE user = ? AND chat = ? RETURNING is_stopped",
  );
  const stop = database.prepare(
    "UPDATE chat_answers SET is_stopped = 1 WHERE user = ? AND chat = ?",
  );
  const remove = database.prepare("DELETE FROM chat_answers WHERE user = ? AND chat = ?");
  const find = database.prepare("SELECT until FROM chat_answers WHERE user = ? AND chat = ?");
  return {
    read: (user, chat) =>
      select.all(user, chat).map(({ message }) => JSON.parse(String(message)) as ChatMessage),
    save(user, chat, messages) {
      for (const message of messages) upsert.run(user, chat, message.id, JSON.stringify(message));
    },
    begin: (user, chat) => claim.run(user, chat, Date.now() + aliveMs, Date.now()).changes === 1,
    goOn: (user, chat) => renew.get(Date.now() + aliveMs, user, chat)?.["is_stopped"] === 0,
    stop: (user, chat) => void stop.run(user, chat),
    end: (user, chat) => void remove.run(user, chat),
    answering(user, chat) {
      const until = find.get(user, chat)?.["until"];
      if (until === undefined) return "no";
      return Number(until) > Date.now() ? "yes" : "interrupted";
    },
  };
}
