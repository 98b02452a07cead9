import { within } from "@durable-mcp/core/internal";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

/**
 * A closing client waits this long, in milliseconds, until the server got its cancellations and the end
 * of a session of its own.
 */
const closeTimeoutMs = 2_000;

/**
 * The cancellations under way. An aborted run ends at once. If the client closed before it sent its
 * cancellations, the server would continue the calls.
 */
export function trackCancellations(transport: Transport): ReadonlySet<Promise<void>> {
  const sending = new Set<Promise<void>>();
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const sent = send(message, options);
    if ("method" in message && message.method === "notifications/cancelled") {
      sending.add(sent);
      const forget = () => sending.delete(sent);
      sent.then(forget, forget);
    }
    await sent;
  };
  return sending;
}

/** Closes a client, and ends a session that is its own. */
export async function closeAfterCancellations(
  client: Client,
  transport: Transport,
  cancellations: ReadonlySet<Promise<void>>,
): Promise<void> {
  const ending =
    transport instanceof StreamableHTTPClientTransport
      ? transport.terminateSession()
      : Promise.resolve();
  await within(closeTimeoutMs, Promise.allSettled([ending, ...cancellations]));
  await client.close();
}
