import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { isNewerFormat, isRecord, newerFormat, randomToken } from "@durable-mcp/core/internal";
import type { UIMessage } from "ai";
import { deleteAll, inParallel } from "@durable-mcp/sessions/internal";

/** What a record has of the messages, in characters of their JSON. As JSON in JSON it may be twice as long. */
const maxLength = 100_000;
/** How often a reader meets another save. */
const maxReads = 5;

/**
 * The messages of a chat in an agent's store: their JSON, cut into pieces that are written before the record that names
 * them, and never changed. That record has the last piece. So a save writes what is new, and is seen as a whole.
 */
export function createStoredMessages(
  store: SessionStore,
  { prefix, owner }: { readonly prefix: string; readonly owner: string },
) {
  const key = `${prefix}messages`;
  const length = Math.min(maxLength, Math.floor((store.maxBytes ?? Infinity) / 8));
  const by = randomToken();
  let revision: string | null = null;
  let pieces: readonly string[] = [];
  let texts: readonly unknown[] = [];

  const putHead = async (names: readonly string[], end: string): Promise<void> => {
    const write = () => store.put(key, { version: 1, by, pieces: names, end }, revision, { owner });
    for (;;) {
      // One that failed may have been done.
      const put = await write().catch(write);
      if (put.ok) return void ({ revision } = put);
      const { value = null, revision: now = null } = put.current ?? {};
      if (!isRecord(value) || value["by"] !== by)
        throw new McpSessionError(
          "STORE_FAILED",
          "Another process has changed the chat meanwhile.",
        );
      revision = now;
    }
  };

  return {
    async load(): Promise<UIMessage[]> {
      for (let reads = 0; reads < maxReads; reads += 1) {
        const stored = await store.get(key);
        revision = stored?.revision ?? null;
        if (stored === undefined) return [];
        const head = parseHead(stored.value);
        const found = await Promise.all(head.pieces.map((piece) => store.get(prefix + piece)));
        [pieces, texts] = [head.pieces, found.map((piece) => piece?.value)];
        if (!texts.includes(undefined)) return parseMessages(texts.join("") + head.end);
      }
      throw unreadable();
    },
    /** Saves all messages. @throws if another process has saved since they were loaded */
    async save(messages: readonly UIMessage[]): Promise<void> {
      const text = JSON.stringify(messages);
      const count = Math.ceil(text.length / length);
      const cut = Array.from({ length: count }, (_, at) =>
        text.slice(at * length, (at + 1) * length),
      );
      const end = cut.pop()!;
      const names = await inParallel([...cut.entries()], async ([at, piece]) => {
        if (piece === texts[at]) return pieces[at]!;
        const name = randomToken();
        await store.put(prefix + name, piece, null, { owner });
        return name;
      });
      await putHead(names, end);
      const old = pieces.filter((name) => !names.includes(name));
      [pieces, texts] = [names, cut];
      // Nobody reads them any more.
      await deleteAll(
        store,
        old.map((name) => ({ key: prefix + name })),
      ).catch(() => undefined);
    },
  };
}

function parseHead(value: unknown) {
  if (isNewerFormat(value)) throw newerFormat("The stored chat");
  if (!isRecord(value) || !Array.isArray(value["pieces"])) throw unreadable();
  return value as { readonly pieces: readonly string[]; readonly end: string };
}

function parseMessages(text: string): UIMessage[] {
  try {
    return JSON.parse(text) as UIMessage[];
  } catch {
    throw unreadable();
  }
}

/** Not an empty chat: the next answer would replace what is there. */
function unreadable(): McpSessionError {
  const why = "The stored chat cannot be read: it is damaged, or was sealed with another key.";
  return new McpSessionError("STATE_INVALID", why);
}
