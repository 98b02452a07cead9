import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { LiveConnection } from "../connection/live-connection.ts";
import { once } from "../base/once.ts";
import { waitingLimits } from "../connection/define-connection.ts";
import { type LoadedWaiting, loadWaiting, type StoredCalls } from "./stored-calls.ts";

type CallIdentity = Parameters<LoadedWaiting["callId"]>[0];

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
    const { name, definition } = connection;
    const { record } = waitingLimits(definition.options) ?? {};
    const orphans = record === "first" && once(() => findOrphans(stored, name));
    connection.repeatOf =
      own.length === 0 && !orphans
        ? undefined
        : async (tool, input, { toolCallId, place }) => {
            const identity = { connection: name, method: "tools/call", tool, input };
            const found = orphans ? await orphans() : [];
            const again = found.length > 0 && (await idInPlace({ ...identity, toolCallId }, place));
            // A step that is run again finds its own call by its id, with the answer.
            const others = found.filter(({ id }) => !again || !id.startsWith(again));
            return await join(stored, [...own, ...others], identity, toolCallId);
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

/** The calls of a connection whose processes died before any conversation had a placeholder: one list of the store. */
async function findOrphans(stored: StoredCalls, connection: string) {
  const { upToDate } = await loadWaiting();
  const context = await stored.contextOf({ connection });
  const all = (await context.calls.list()).filter(({ call }) => call.connection === connection);
  const current = await Promise.all(all.map((each) => upToDate(context, each)));
  return current.map(({ call }) => call).filter(({ isOrphan, path }) => isOrphan && !path);
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
  identity: Parameters<LoadedWaiting["hasDigest"]>[0],
  toolCallId: string,
): Promise<WaitingResult | undefined> {
  const { delivers, describeWaiting, hasDigest, isRepeated, waitingFailure } = await loadWaiting();
  for (const { id } of waiting) {
    const found = await stored.read(id);
    if (found === undefined || found.call.isDelivered) continue;
    const { call } = found;
    if (!(await hasDigest(identity, call.digest))) continue;
    const isOwn = call.toolCallId === toolCallId || call.repeatedBy?.includes(toolCallId);
    const { calls } = await stored.contextOf(call);
    // An orphan's id may be one that the model gives again.
    const isKnown = isOwn && !call.isOrphan;
    const isLost = call.isOrphan && call.state === "outcome-unknown";
    const next = isRepeated(call, toolCallId);
    const joined = isKnown || (await calls.replace(found, isLost ? delivers(next) : next));
    // Another process has changed the call.
    if (!joined) return await join(stored, waiting, identity, toolCallId);
    // It is told once: a model that has checked may make the call again.
    if (isLost) throw waitingFailure(call);
    return waitingResult({ ...describeWaiting(call), toolCallId, repeats: true });
  }
  return undefined;
}

/** What tells the model that a call that waited is over, if it has spoken since. */
export function landingText(toolNames: readonly string[]): string {
  const names = [...new Set(toolNames)].join(", ");
  return `From the application, not from the user: the call of ${names} that waited is over. Its result is in its place above. Go on.`;
}
