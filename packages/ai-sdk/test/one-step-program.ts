/**
 * One step as a process of its own: uses the connections, disposes of them, says so and has
 * nothing left to do. What keeps the process alive then is a leak.
 *
 *     node one-step-program.ts <url of a notebook> <url where nothing answers>
 */
import { createConnectionProvider, defineMcpClientConnection } from "../src/index.ts";

const [url = "", deadUrl = ""] = process.argv.slice(2);
const description = "A notebook.";

const provider = createConnectionProvider({
  // Nothing may be printed.
  onEvent: () => undefined,
  connections: {
    notes: defineMcpClientConnection({
      url,
      description,
      session: "stateful",
      onElicitation: () => ({ action: "cancel" }), // Keeps a stream open.
      timeouts: { callMs: 600_000, connectMs: 600_000 },
    }),
    plain: defineMcpClientConnection({ url, description }),
    dead: defineMcpClientConnection({ url: deadUrl, description, session: "stateful" }),
  },
});
const registry = provider.create({ principal: { type: "app" } });
const tools = await registry.tools();
const options = { toolCallId: "call-1", messages: [], context: {} };
await tools["notes__list_notes"]?.execute?.({}, options);
await tools["plain__list_notes"]?.execute?.({}, options);
// Nobody waits for this one, nor for its failure.
Promise.resolve(tools["notes__wait"]?.execute?.({}, options)).catch(() => undefined);
await new Promise((resolve) => {
  setTimeout(resolve, 50);
});
await registry.dispose();
process.stdout.write("disposed\n");
