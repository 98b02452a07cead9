/**
 * An application: runs one step for each of these users, in agent sessions of their own, and leaves what it leaves in
 * a store.
 *
 *     node application-program.ts '{ "place": …, "notebook": URL, "shop": URL, "users": ["alice"] }'
 */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { callTool } from "../../ai-sdk/test/step.ts";
import { openStoreAt, type StorePlace } from "../../e2e/src/durable/store-place.ts";

export interface ApplicationWork {
  readonly place: StorePlace;
  readonly notebook: string;
  readonly shop: string;
  readonly users: readonly string[];
}

const { place, notebook, shop, users } = JSON.parse(process.argv[2]!) as ApplicationWork;
const { store, close } = await openStoreAt(place);
const sessions = createDurableSessions({
  connections: {
    notes: defineMcpClientConnection({ url: notebook, description: "Notes.", session: "stateful" }),
    shop: defineMcpClientConnection({ url: shop, description: "A shop.", waiting: true }),
  },
  store,
});
for (const id of users) {
  const principal = { type: "user", issuer: "https://idp.test", id } as const;
  await sessions.run(`chat-of-${id}`, { principal }, async (run) => {
    const tools = await run.tools();
    await callTool(tools, "notes__add_note", { text: "hello" });
    await callTool(tools, "shop__order_twice", { item: "an oolong" });
  });
}
await close?.();
