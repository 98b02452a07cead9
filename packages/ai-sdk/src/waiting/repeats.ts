import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { LiveConnection } from "../connection/live-connection.ts";
import { once } from "../base/once.ts";
import { waitingLimits } from "../connection/define-connection.ts";
import { findLost, joinLost, type LostCall, resultsIn } from "./lost-calls.ts";
import { type CallIdentity, loadWaiting, type StoredCalls } from "./stored-calls.ts";

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
  of: {
    readonly connections: readonly LiveConnection[];
    readonly repeats: RepeatedCalls;
    readonly messages: readonly unknown[];
  },
): void {
  const { connections, repeats, messages } = of;
  for (const connection of connections) {
    const own = waiting.filter(
      (call) => call.connection === connection.name && call.type !== "sub-agent",
    );
    const { name, definition } = connection;
    const { record } = waitingLimits(definition.options) ?? {};
    const lost = record === "first" && once(() => findLost(stored, name, resultsIn(messages)));
    connection.repeatOf =
      own.length === 0 && !lost
        ? undefined
        : async (tool, input, { toolCallId, place }) => {
            const identity = { connection: name, method: "tools/call", tool, input };
            const found = lost ? await lost() : new Set<never>();
            const again = found.size > 0 && (await idInPlace({ ...identity, toolCallId }, place));
            // A step that is run again finds its own call by its id, with the answer.
            const isOther = ({ id }: LostCall) => !again || !id.startsWith(again);
            const joined = await join(stored, own, identity, toolCallId);
            return joined ?? (await joinLost(stored, found, isOther, identity, toolCallId));
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

/** The id of a call whose record was written first. */
async function idInPlace(identity: CallIdentity, place: number | undefined): Promise<string> {
  const { callId } = await loadWaiting();
  return await callId({ ...identity, ...(place !== undefined && { scope: `at ${place}` }) }, 0);
}

/** Notes that a call repeats one of these. @returns its placeholder; `undefined` if it repeats none */
async function join(
  stored: StoredCalls,
  waiting: readonly Pick<WaitingCall, "id">[],
  identity: CallIdentity,
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
