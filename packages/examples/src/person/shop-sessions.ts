import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { openStore } from "../programs/open-store.ts";

/** On whose behalf the agent orders, and who may answer. */
export const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;

/** The same sessions in each process: the calls that wait are in the store. */
export async function openShop(url: string, place: string) {
  const { store, close } = await openStore(place);
  const shop = defineMcpClientConnection({
    url,
    description: "Orders things.",
    input: "pause",
  });
  return { sessions: createDurableSessions({ connections: { shop }, store }), close };
}
