/**
 * A script that opens nothing by hand: uses a notebook and a stdio server through the implicit
 * session, prints what it found, and has nothing more to do, or goes on as it is told.
 *
 *     node auto-session-program.ts <url of a notebook> <command> <args as JSON> [manner]
 *
 * - `idle`: waits until the session was idle for long enough and ended, and uses it again.
 * - `exit`: calls `process.exit`.
 * - `throw`: fails.
 * - `unused`: uses nothing.
 * - `last-use`: uses it once more when it has nothing more to do.
 * - `stuck`: waits for ever for what keeps no process.
 * - `listen`: declares a capability for which a stream is kept open.
 */
import {
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";

const [url = "", command = "", args = "[]", manner = ""] = process.argv.slice(2);
createConnectionProvider({
  connections: {
    notes: defineMcpClientConnection({
      url,
      description: "A notebook.",
      session: "stateful",
      ...(manner === "last-use" && { fetch: slowFetch }),
      ...(manner === "listen" && { onElicitation: () => ({ action: "cancel" as const }) }),
    }),
    plain: defineMcpStdioConnection({
      command,
      args: JSON.parse(args) as string[],
      description: "A notebook of a process.",
      timeouts: { closeMs: 200 },
    }),
  },
  autoSession: {
    principal: { type: "app" },
    ...((manner === "idle" || manner === "listen") && { idleTimeoutMs: 300 }),
  },
  onEvent: (event) => {
    if (event.type === "close-failed") console.log(event.type, event.connection, event.reason);
  },
});

if (manner === "last-use") process.once("beforeExit", () => void useOnceMore());
if (manner !== "unused") await use();
if (manner === "stuck") void currentConnections().enter(() => new Promise(() => undefined));
if (manner === "exit") process.exit(0);
if (manner === "throw") throw new Error("A mistake.");
if (manner === "idle") {
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  console.log("again");
  await use();
}
console.log("done");

async function use(): Promise<void> {
  const first = currentConnections();
  await Promise.all([
    first.call("notes", "add_note", { text: "a" }),
    first.call("plain", "add_note", { text: "b" }),
  ]);
  const tools = await currentConnections().tools();
  const options = { toolCallId: "call-1", messages: [], context: {} };
  const list = async (name: string) => {
    const { content } = await (tools as any)[name].execute({}, options);
    return content[0].text as string;
  };
  console.log("notes", await list("notes__list_notes"));
  console.log("plain", await list("plain__list_notes"));
  await withConnections({ notes: "isolate" }, async (own) => {
    const { content } = await own.call("notes", "list_notes");
    console.log("isolated", JSON.stringify((content as { text: string }[])[0]!.text));
  });
}

async function useOnceMore(): Promise<void> {
  const { content } = await currentConnections().call("notes", "list_notes");
  console.log("still", (content as { text: string }[])[0]!.text);
}

/** For a call that is under way for a while. */
async function slowFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return await fetch(...request);
}
