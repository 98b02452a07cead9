import { isSilent } from "./silent-model.ts";
import { waitingCallOf } from "./waiting-call.ts";

/** What it reads of a loop's steps, with any tools. */
interface Step {
  readonly toolResults: readonly { readonly output: unknown }[];
  readonly response: { readonly modelId: string };
}

/**
 * A stop condition of AI SDK 6 and 7: the loop ends after a step in which a call began to wait for a person. AI SDK
 * does not ask a stop condition after calls that were approved; `stopWhenWaiting` ends the loop there too.
 *
 * @example
 * await generateText({ model, tools, messages, stopWhen: [isWaiting(), stepCountIs(10)] });
 */
export function isWaiting(): (options: { readonly steps: readonly Step[] }) => boolean {
  return ({ steps }) => {
    const last = steps.at(-1);
    if (last === undefined) return false;
    return (
      isSilent(last) || last.toolResults.some(({ output }) => waitingCallOf(output) !== undefined)
    );
  };
}
