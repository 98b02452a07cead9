import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { RunConnection } from "../connection/run-connection.ts";
import { once } from "../base/once.ts";
import { waitingLimits } from "../declare/define-connection.ts";
import { findLost, joinLost, type ToldCalls } from "./lost-calls.ts";
import { loadWaiting, type StoredCalls } from "./stored-calls.ts";

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

/**
 * Has calls of a root agent's model join the calls that they repeat, of those that wait in its messages; and those of
 * the agents below it, of the calls of steps that have died.
 *
 * @param told by its messages
 * @returns gets the calls that wait in them
 */
export function joinRepeats(
  stored: StoredCalls,
  connections: readonly RunConnection[],
  repeats: RepeatedCalls,
  told: () => ToldCalls,
): { waiting: readonly WaitingCall[] } {
  const of: ReturnType<typeof joinRepeats> = { waiting: [] };
  for (const connection of connections) {
    const { name, definition } = connection;
    const { record } =
      waitingLimits(definition.options as LiveConnection["definition"]["options"]) ?? {};
    const lost = record === "first" && once(() => findLost(stored, name, told()));
    const repeatOf: LiveConnection["repeatOf"] = async (tool, input, place) => {
      const own = of.waiting.filter(
        (call) => call.connection === name && call.tool === tool && call.type !== "sub-agent",
      );
      const isOwn = own.length > 0 && !place.path;
      const joined = isOwn && (await join(stored, own, input, place.toolCallId));
      if (joined) return joined;
      const called = { connection: name, tool, input };
      return lost ? await joinLost(stored, await lost(), called, place) : undefined;
    };
    connection.whenLive((live) => void (live.repeatOf = repeatOf));
  }
  repeats.find = ({ toolName, toolCallId, input }) => {
    const same = of.waiting.filter(({ type, tool }) => type === "sub-agent" && tool === toolName);
    return same.length === 0 ? undefined : join(stored, same, input, toolCallId);
  };
  return of;
}

/** Notes that a call repeats one of these, of the same tool. @returns its placeholder; `undefined` if it repeats none */
async function join(
  stored: StoredCalls,
  waiting: readonly Pick<WaitingCall, "id">[],
  input: unknown,
  toolCallId: string,
): Promise<WaitingResult | undefined> {
  const { describeWaiting, hasInput } = await loadWaiting();
  for (const { id } of waiting) {
    const found = await stored.read(id);
    if (found === undefined || found.call.isDelivered) continue;
    const { call } = found;
    if (!(await hasInput(call, input))) continue;
    const isKnown = call.toolCallId === toolCallId || call.repeatedBy?.includes(toolCallId);
    const joined = isKnown || (await (await stored.callsOf(call)).noteRepeat(found, toolCallId));
    // Another process has changed the call.
    if (!joined) return await join(stored, waiting, input, toolCallId);
    return waitingResult({ ...describeWaiting(call), toolCallId, repeats: true });
  }
  return undefined;
}

/** What tells the model that a call that waited is over, if it has spoken since. */
export function landingText(toolNames: readonly string[]): string {
  const names = [...new Set(toolNames)].join(", ");
  return `From the application, not from the user: the call of ${names} that waited is over. Its result is in its place above. Go on.`;
}
