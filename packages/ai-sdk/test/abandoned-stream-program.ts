/**
 * Streams that nobody reads, in a process of its own: one that ends, one that is aborted during a
 * call. Says when each let go of its session, and has nothing left to do then.
 *
 *     node abandoned-stream-program.ts <url of a notebook>
 */
import { createMemoryStore } from "@durable-mcp/core";
import {
  createConnectionProvider,
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
} from "../src/index.ts";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";

const [url = ""] = process.argv.slice(2);
const provider = createConnectionProvider({
  connections: {
    notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
  },
});
const sessions = createDurableSessions({ provider, store: createMemoryStore() });
const prompt = "Keep my notes.";

async function abandon(turns: Turn[], abortSignal?: AbortSignal): Promise<void> {
  const agent = createDurableAgent({ sessions, model: scriptedModel(...turns) });
  const use = { sessionId: "chat-1", principal: { type: "app" } as const };
  const open = await agent.open({ ...use, abortSignal });
  await open.stream({ prompt, ...(abortSignal && { abortSignal }) });
  await open.dispose();
  await open.closed;
}

await abandon([[{ tool: "notes__list_notes" }], "Done."]);
process.stdout.write("finished released\n");
const controller = new AbortController();
setTimeout(() => controller.abort(), 100);
await abandon([[{ tool: "notes__wait" }], "Done."], controller.signal);
process.stdout.write("aborted released\n");
