import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { collectEvents } from "../collect-events.ts";
import { alice } from "../step.ts";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

export const resource = "note://board";

/** What a server says of its board. */
interface Board {
  /** `undefined`: there is no board. */
  text: string | undefined;
  /** In place of the text. */
  contents?: readonly object[];
  /** In place of an answer. */
  fail?: () => never;
  /** What it waits for before. */
  wait?: () => Promise<void>;
}

/** An application in several processes, and a server with a board. */
export async function startWatching(
  makeStore: (now: () => number) => SessionStore = (now) => createMemoryStore({ now }),
  session: "stateful" | "stateless" = "stateful",
  maxAgeMs?: number,
  connection: Partial<McpClientConnectionOptions> = {},
) {
  const { onEvent, events } = collectEvents();
  const board: Board = { text: "A" };
  const server = await startNotebookServer({
    setUp(mcp) {
      mcp.registerResource("board", resource, {}, async () => {
        await board.wait?.();
        board.fail?.();
        if (board.contents) return { contents: board.contents as { uri: string; text: string }[] };
        if (board.text === undefined) throw Object.assign(new Error("Gone"), { code: -32_002 });
        return { contents: [{ uri: resource, text: board.text }] };
      });
    },
  });
  let time = Date.now();
  const now = () => time;
  const store = makeStore(now);
  const startProcess = (own = store) =>
    createDurableSessions({
      connections: {
        notes: defineMcpClientConnection({
          ...{ url: server.url, description: "Notes.", session },
          waiting: { watch: true, ...(maxAgeMs && { maxAgeMs }) },
          ...connection,
        }),
      },
      ...{ store: own, now, onEvent },
    });
  const sessions = startProcess();
  const looked = async (of = startProcess()) => {
    const found = [];
    for await (const { reference } of of.admin.due()) found.push(await of.admin.check(reference));
    return found;
  };
  const news = async (chat = "chat", principal = alice) =>
    await startProcess().run(chat, { principal }, async (run) => await run.waiting.news());
  return {
    ...{ sessions, startProcess, board, server, store, events, looked, news, clock: now },
    pass: (ms = 60_000) => void (time += ms),
    watch: async (chat = "chat", principal = alice) =>
      await startProcess().run(chat, { principal }, async (run) =>
        run.watch("notes", { resource }),
      ),
  };
}

export const texts = (news: readonly { readonly data?: unknown }[]) =>
  news.map(({ data }) => (data as { text: string }[] | null)?.map(({ text }) => text).join());
