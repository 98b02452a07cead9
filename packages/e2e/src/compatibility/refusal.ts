import { createOpenSessions } from "../../../cli/src/probe/open-sessions.ts";
import { listWith as listOn } from "../../../cli/src/probe/session-checks.ts";
import { createWire, type Refusal } from "../../../cli/src/probe/wire.ts";

export { describeRefusal, neverGiven } from "../../../cli/src/probe/session-checks.ts";
export type { Refusal } from "../../../cli/src/probe/wire.ts";

/** Initializes with plain requests, as a client of its own; `undefined` when no session is named. */
export async function openRawSession(url: string): Promise<string | undefined> {
  const { session } = await createOpenSessions().open(wireTo(url), protocolVersion);
  return session?.sessionId;
}

/** Lists the tools with this id. */
export async function listWith(url: string, id: string): Promise<Refusal> {
  return await listOn(wireTo(url), sessionWith(id));
}

/** Ends a session as anybody can who has the id. Resolves with the status of the answer. */
export async function endSession(url: string, id: string): Promise<number> {
  return await wireTo(url).delete(sessionWith(id));
}

/** Not each of these servers speaks the newest one. */
const protocolVersion = "2025-06-18";

const sessionWith = (sessionId: string) => ({ sessionId, protocolVersion });

const wireTo = (url: string) =>
  createWire({ url: new URL(url), headers: {}, scrub: String, timeoutMs: 5_000 });
