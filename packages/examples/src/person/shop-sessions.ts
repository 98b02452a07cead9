import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createEventLog } from "@durable-mcp/ai-sdk/event-log";
import { openStore } from "../programs/open-store.ts";

/** On whose behalf the agent orders, and who may answer. */
export const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;

/**
 * The same sessions in each process: the calls that wait are in the store.
 *
 * @param events path of the event log, or nothing
 */
export async function openShop(url: string, place: string, events: string) {
  const { store, close } = await openStore(place);
  const shop = defineMcpClientConnection({
    url,
    description: "Orders things.",
    waiting: true,
  });
  const onEvent = events ? createEventLog({ path: events }) : undefined;
  return { sessions: createDurableSessions({ connections: { shop }, store, onEvent }), close };
}
