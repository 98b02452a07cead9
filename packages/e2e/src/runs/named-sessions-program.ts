/**
 * One step of a chat as a process of its own, with named sessions in SQLite. Prints JSON.
 *
 *     node named-sessions-program.ts <url of a notebook> <path of the database> <create | use | end>
 */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", path = "", action] = process.argv.slice(2);
const sessions = createDurableSessions({
  connections: {
    notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
  },
  store: createSqliteStore({ path }),
});

const seen = await sessions.run("chat", { principal: { type: "app" } }, async ({ registry }) => {
  const { named } = registry;
  if (action === "create") await named.create("research");
  const list = async (name: string) =>
    await named.run(name, async (own) => {
      await own.call("notes", "add_note", { text: String(process.pid) });
      const { content } = await own.call("notes", "list_notes");
      return (content as { text: string }[])[0]!.text.split("\n");
    });
  const notes = await list("research");
  const { content } = await registry.call("notes", "list_notes");
  const ended = action === "end" ? await named.end("research") : [];
  return {
    notes,
    unnamed: (content as { text: string }[])[0]!.text,
    ended,
    list: await named.list(),
  };
});
console.log(JSON.stringify({ pid: process.pid, ...seen }));
