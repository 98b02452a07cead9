import type { ConnectionRun, DurableSessions, McpClientConnection, OpenRun } from "../src/index.ts";

/** Durable sessions that say how often they were opened, and which leases were released. */
export function countLeases<CONNECTIONS extends Record<string, McpClientConnection>>(
  sessions: DurableSessions<CONNECTIONS>,
) {
  const leases: OpenRun<CONNECTIONS>[] = [];
  const releases: number[] = [];
  return {
    sessions: {
      ...sessions,
      async open(...parameters) {
        const lease = await sessions.open(...parameters);
        const number = leases.push(lease);
        void lease.closed.then(() => releases.push(number));
        return lease;
      },
    } satisfies DurableSessions<CONNECTIONS>,
    leases,
    /** The numbers of the leases that were released, in order, from 1. */
    releases,
  };
}

/** Whether the clients of a step can still be used. */
export async function isInUse(registry: ConnectionRun<any>): Promise<boolean> {
  return await registry.tools({ onUnavailable: "throw" }).then(
    () => true,
    () => false,
  );
}
