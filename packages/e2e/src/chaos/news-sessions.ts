import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";

/** How the processes of a round find the server, and what time it is: each second is a minute. */
export interface NewsUse {
  readonly url: string;
  readonly startedAt: number;
}

const speed = 60;

export function createNewsSessions(store: SessionStore, { url, startedAt }: NewsUse) {
  const board = defineMcpClientConnection({
    ...{ url, description: "A board.", session: "stateful", waiting: { watch: true } },
    timeouts: { connectMs: 5_000, callMs: 5_000 },
  });
  const now = () => startedAt + (Date.now() - startedAt) * speed;
  return createDurableSessions({
    ...{ connections: { board }, store, now, onEvent: () => undefined },
  });
}
