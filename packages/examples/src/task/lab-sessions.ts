import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import { openStore } from "../programs/open-store.ts";

/** On whose behalf the agent works. */
export const principal = { type: "user", issuer: "https://lab.example", id: "42" } as const;

/** What the servers of the demo are called, and whether they have sessions. */
export type LabKind = "task" | "stream";

/**
 * The same sessions in each process. The store is encrypted: the cron process finds the calls of all users there.
 *
 * @param key of the store, as base64
 */
export async function openLab(url: string, kind: LabKind, place: string, key: string) {
  const { store, close } = await openStore(place);
  const lab = defineMcpClientConnection({
    ...{ url, description: "Researches." },
    session: kind === "task" ? "stateless" : "stateful",
    waiting: true,
  });
  const encrypted = encryptStore(store, { keys: { current: key }, fingerprintKey: key });
  return { sessions: createDurableSessions({ connections: { lab }, store: encrypted }), close };
}
