import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import { openStore } from "../programs/open-store.ts";

/** On whose behalf the agent works. */
export const principal = { type: "user", issuer: "https://office.example", id: "42" } as const;

/** How often the server is asked, in milliseconds. A real one is asked once a minute. */
export const everyMs = 1_000;

/** The same sessions in each process. @param key of the store, as base64 */
export async function openOffice(url: string, place: string, key: string) {
  const { store, close } = await openStore(place);
  const office = defineMcpClientConnection({
    ...{ url, description: "Has news.", session: "stateful" },
    waiting: { watch: true },
  });
  const encrypted = encryptStore(store, { keys: { current: key }, fingerprintKey: key });
  return { sessions: createDurableSessions({ connections: { office }, store: encrypted }), close };
}

/** What a process of the demo tells its parent, as one line of JSON on its stdout. */
export interface NewsReport {
  pid: number;
  /** What happened. */
  what: string;
  /** How many entries wait, or have come. */
  news: number;
}

export function printReport(report: Omit<NewsReport, "pid">): void {
  console.log(JSON.stringify({ pid: process.pid, ...report }));
}
