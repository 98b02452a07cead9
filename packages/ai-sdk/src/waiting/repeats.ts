import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { LiveConnection } from "../connection/live-connection.ts";
import { type LoadedWaiting, loadWaiting, type StoredCalls } from "./stored-calls.ts";

/** The calls of the application's own tools that wait, while the model goes on. */
export interface RepeatedCalls {
  /** Has a call of the model join one that waits, which it repeats; `undefined` while none of its tool waits. */
  find?:
    | ((call: {
        readonly toolName: string;
        readonly toolCallId: string;
        readonly input: unknown;
      }) => Promise<WaitingResult | undefined> | undefined)
    | undefined;
}

/** Has calls of a model join the calls that they repeat, of those that wait in its messages. */
export function joinRepeats(
  stored: StoredCalls,
  waiting: readonly WaitingCall[],
  of: { readonly connections: readonly LiveConnection[]; readonly repeats: RepeatedCalls },
): void {
  const { connections, repeats } = of;
  for (const connection of connections) {
    const own = waiting.filter(
      (call) => call.connection === connection.name && call.type !== "sub-agent",
    );
    connection.repeatOf =
      own.length === 0
        ? undefined
        : async (tool, input, toolCallId) => {
            const identity = { connection: connection.name, method: "tools/call", tool, input };
            return await join(stored, own, identity, toolCallId);
          };
  }
  const agents = waiting.filter(({ type }) => type === "sub-agent");
  repeats.find = ({ toolName, toolCallId, input }) => {
    const same = agents.filter(({ tool }) => tool === toolName);
    if (same.length === 0) return undefined;
    return loadWaiting().then(async ({ agentCall }) =>
      join(stored, same, { ...agentCall, input }, toolCallId),
    );
  };
}

/** Notes that a call repeats one of these. @returns its placeholder; `undefined` if it repeats none */
async function join(
  stored: StoredCalls,
  waiting: readonly WaitingCall[],
  identity: Parameters<LoadedWaiting["hasDigest"]>[0],
  toolCallId: string,
): Promise<WaitingResult | undefined> {
  const { describeWaiting, hasDigest, isRepeated } = await loadWaiting();
  for (const { id } of waiting) {
    const found = await stored.read(id);
    if (found === undefined || found.call.isDelivered) continue;
    const { call } = found;
    if (!(await hasDigest(identity, call.digest))) continue;
    const isKnown = call.toolCallId === toolCallId || call.repeatedBy?.includes(toolCallId);
    const { calls } = await stored.contextOf(call);
    const joined = isKnown || (await calls.replace(found, isRepeated(call, toolCallId)));
    // Another process has changed the call.
    if (!joined) return await join(stored, waiting, identity, toolCallId);
    return waitingResult({ ...describeWaiting(call), toolCallId, repeats: true });
  }
  return undefined;
}

/** What tells the model that a call that waited is over, if it has spoken since. */
export function landingText(toolNames: readonly string[]): string {
  const names = [...new Set(toolNames)].join(", ");
  return `From the application, not from the user: the call of ${names} that waited is over. Its result is in its place above. Go on.`;
}
