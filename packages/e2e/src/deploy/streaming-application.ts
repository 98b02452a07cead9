import { setTimeout as sleep } from "node:timers/promises";
import type { DurableSessions } from "@durable-mcp/ai-sdk";
import { createSqliteStore, type SqliteStore } from "@durable-mcp/stores/sqlite";
import { callNotebook, createNotebookSessions } from "../durable/notebook-sessions.ts";

/** What a request asks for: a note for each word, with a pause before each, and then all notes. */
export interface Dictation {
  readonly chat: string;
  readonly words: readonly string[];
  /** In milliseconds. @default 0 */
  readonly pauseMs?: number;
}

/** An application as each of its processes makes it, on one notebook and one file. */
export function createApplication({ url, path }: { url: string; path: string }): {
  sessions: DurableSessions;
  store: SqliteStore;
} {
  const store = createSqliteStore({ path });
  return { ...createNotebookSessions({ url, store }), store };
}

/** The body of an answer, which calls its tools while it is read. */
export function dictate(
  tools: object,
  { words, pauseMs = 0 }: Dictation,
): ReadableStream<Uint8Array> {
  const lines = makeLines();
  const stream = new ReadableStream<string>({
    async pull(controller) {
      const { done, value } = await lines.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await lines.return()),
  });
  return stream.pipeThrough(new TextEncoderStream());

  async function* makeLines(): AsyncGenerator<string, void, void> {
    for (const text of words) {
      await sleep(pauseMs);
      await callNotebook(tools, "add_note", { text });
      yield `${text}\n`;
    }
    yield await callNotebook(tools, "list_notes");
  }
}
