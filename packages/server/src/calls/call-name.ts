import type { RequestId } from "../base/mcp-types.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { CallHold } from "../records/replica.ts";
import { type CallName, callKey, type MakeEventId } from "../streams/event-id.ts";
import type { PostCallOptions } from "./posted-call.ts";

/** Characters of a batch's request ids, which its event ids hold: a client sends them as a header. */
const maxIdsLength = 1_500;

/**
 * The name of a call, in its event ids, and its place in the lease of this process. Both are only made
 * when an event id is needed.
 *
 * @param isOver all of its answers are stored
 */
export function createCallName(
  { instance, replica, eventIds }: LiveContext,
  { requests, claimed, number }: PostCallOptions,
  isOver: () => boolean,
) {
  const requestIds = requests.map(({ id }) => id);
  const key = claimed?.call ?? callKey({ instance, number });
  let held: CallHold | undefined = claimed?.hold;
  let name: CallName | undefined;
  let naming: ReturnType<typeof make>;

  function nameAfter(renewals: number): MakeEventId {
    name = { instance, number, replica: replica.token, renewals, requestIds };
    return eventIds.of(name);
  }

  function make(): MakeEventId | undefined | Promise<MakeEventId | undefined> {
    if (!canBeNamed(requestIds)) return undefined;
    // Whoever asks for them needs no living process.
    if (isOver()) return nameAfter(0);
    const hold = (given: CallHold) => {
      held = given;
      if (isOver()) given.release();
      return nameAfter(given.renewals);
    };
    const holding = replica.hold(key);
    // Without a lease the messages go out without ids, and cannot be resumed.
    return holding instanceof Promise ? holding.then(hold, () => undefined) : hold(holding);
  }

  return {
    key,
    /** `undefined` when the client cannot come back. A promise only when the lease has to be written. */
    eventIds: () => (naming ??= make()),
    /** After the event ids were made. */
    get: (): CallName => name!,
    release: (): void => held?.release(),
  };
}

export type CallNaming = ReturnType<typeof createCallName>;

function canBeNamed(requestIds: readonly RequestId[]): boolean {
  return requestIds.length === 1 || JSON.stringify(requestIds).length <= maxIdsLength;
}
