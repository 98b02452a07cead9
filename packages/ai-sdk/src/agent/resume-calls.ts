import type { ToolSet } from "ai";
import type { WaitingRegistry } from "../registry/waiting-registry.ts";
import { silentStep } from "../waiting/silent-model.ts";
import { stopWhenWaiting, type StopWhenWaitingOptions } from "../waiting/stop-when-waiting.ts";

/** The parts of a prepared call of an agent that this changes. */
interface PreparedCall extends StopWhenWaitingOptions {
  readonly messages?: readonly unknown[] | undefined;
  readonly prompt?: unknown;
}

type PrepareCall = (call: never) => unknown;

/**
 * A `prepareCall` that puts results in the places of calls that have waited, in the given messages or those of the
 * application's own `prepareCall`. The model is not called while a call of the messages still waits.
 */
export function resumingCalls(
  prepareCall: PrepareCall | undefined,
  { waiting, tools }: { readonly waiting: WaitingRegistry; readonly tools: ToolSet },
) {
  return async (given: PreparedCall): Promise<PreparedCall> => {
    const own = (await prepareCall?.(given as never)) as PreparedCall | undefined;
    const call = own ?? given;
    // As AI SDK takes them: a prompt may be messages.
    const field = call.messages === undefined ? "prompt" : "messages";
    const messages = call[field];
    const { stopWhen, prepareStep } = call;
    const stopped = { ...call, ...stopWhenWaiting({ stopWhen, prepareStep }) };
    if (!Array.isArray(messages)) return stopped;

    const resumed = await waiting.resume(messages, { tools });
    const isStill = resumed.stillWaiting.length > 0;
    const silent = isStill && { prepareStep: () => silentStep };
    return { ...stopped, [field]: resumed.messages, ...silent };
  };
}
