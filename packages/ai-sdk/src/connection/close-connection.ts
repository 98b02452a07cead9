import { within } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { LiveConnection } from "./live-connection.ts";

/** The longest wait for the clients of one connection, in milliseconds. */
const closeTimeoutMs = 5_000;

/**
 * Closes a connection's clients and ends the sessions that must not outlive it, in bounded time.
 * Never rejects: a failure is the event `close-failed`.
 */
export async function closeConnection(
  connection: LiveConnection,
  emit: (event: ConnectionEvent) => void,
): Promise<void> {
  const { name } = connection;
  const closings = [...connection.openings].map(async (opening) => {
    const client = await opening.catch(() => undefined);
    await client?.close();
  });
  const ending = async () => {
    // An aborted start is still ending its session.
    await connection.settle();
    await connection.endLooseSessions();
  };
  const closeAll = async () => {
    const outcomes = await Promise.allSettled([...closings, ending()]);
    const isFailed = outcomes.some(({ status }) => status === "rejected");
    if (isFailed) emit({ type: "close-failed", connection: name, reason: "error" });
  };
  const isDone = await within(closeTimeoutMs, closeAll());
  if (!isDone) emit({ type: "close-failed", connection: name, reason: "timeout" });
}
