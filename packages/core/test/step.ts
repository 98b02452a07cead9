import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { createSessionPipe } from "../src/create-session-fetch.ts";
import type { SessionFetchOptions } from "../src/session/session-fetch-options.ts";
import type { SessionEvent } from "../src/session/session-event.ts";
import { createSessionSlot } from "../src/session/session-slot.ts";
import type { SessionSnapshot, ActiveSessionSnapshot } from "../src/session/session-snapshot.ts";
import { startMcpServer, type TestMcpServer } from "./mcp-server.ts";
import { createRpcClient } from "./rpc-client.ts";

export { sessionSnapshot } from "./session-snapshot.ts";

interface StepOptions extends Partial<SessionFetchOptions> {
  readonly snapshot?: SessionSnapshot;
}

/** A step on a server: a slot, a session fetch on it with both its ways, a client, and the events so far. */
export function startStep(
  server: Pick<TestMcpServer, "url">,
  { snapshot, ...options }: StepOptions = {},
) {
  const slot = createSessionSlot(snapshot);
  const events: SessionEvent[] = [];
  const { fetch, send } = createSessionPipe({
    url: server.url,
    slot,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { slot, events, fetch, send, client: createRpcClient(fetch, server.url) };
}

/** A session that the server knows, as an earlier step saved it. Its handshake is taken out of the log. */
export async function saveSession(server: TestMcpServer): Promise<ActiveSessionSnapshot> {
  const { slot, client } = startStep(server);
  await client.handshake();
  server.requests.length = 0;
  const { snapshot } = slot;
  if (snapshot?.kind !== "session") throw new Error("the server made no session");
  return snapshot;
}

/** A resumed step whose requests the server holds until they are answered by hand. */
export async function startHeldStep(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer();
  const step = startStep(server, { snapshot: await saveSession(server), ...options });
  const held: { message: any; response: ServerResponse }[] = [];
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/call") return next();
    held.push({ message, response });
  });
  const arrived = (count: number) => expect.poll(() => held.length).toBe(count);
  return { ...step, server, held, arrived };
}

/** A resumed step on a server that has forgotten the session. */
export async function startLostStep(options: Parameters<typeof startStep>[1] = {}) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.forgetSessions();
  return { ...startStep(server, { snapshot, ...options }), server, snapshot };
}
