/**
 * A script that opens nothing by hand, and finds its session again when it runs the next time: adds a note
 * to a notebook, prints all of them, and has nothing more to do, or goes on as it is told.
 *
 *     node stored-auto-session-program.ts <url of a notebook> <SQLite file> <note> [manner]
 *
 * - `killed`: waits to be killed.
 * - `end`: ends the session.
 */
import {
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", path = "", note = "", manner = ""] = process.argv.slice(2);
const nightly = { principal: { type: "app" }, sessionId: "nightly-import" } as const;
const sessions = createDurableSessions({
  connections: {
    notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
  },
  store: createSqliteStore({ path }),
  autoSession: nightly,
  onEvent: {
    every: (event) => {
      if (!["started", "resumed", "client", "operation", "step-ended"].includes(event.type))
        console.log("event", event.type);
    },
  },
});

await currentConnections().call("notes", "add_note", { text: note });
const { content } = await currentConnections().call("notes", "list_notes");
const notes = (content as { text: string }[])[0]!.text;
console.log("notes", notes.replaceAll("\n", ", "));
await withConnections({ notes: { named: "draft" } }, async (own) => {
  const added = await own.call("notes", "add_note", { text: note });
  console.log("draft", (added.content as { text: string }[])[0]!.text);
});
if (manner === "end") await sessions.end(nightly.sessionId, { principal: nightly.principal });
console.log("done");
if (manner === "killed") setInterval(() => undefined, 60_000);
