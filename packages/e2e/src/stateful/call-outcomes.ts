import type { ExpectedCall } from "./stateful-servers.ts";
import type { StepCallResult } from "../steps/step-protocol.ts";

/** One line for each call that did not get its own answer; empty when all is well. */
export function wrongAnswers(calls: ExpectedCall[], results: StepCallResult[]): string[] {
  return calls.flatMap((call, index) => {
    const result = results[index];
    const where = `call ${index} (${call.tool})`;
    if (!result) return [`${where}: not made`];
    if (result.hung) return [`${where}: hung`];
    if (result.error) return [`${where}: failed, ${result.error.message}`];
    if (result.isError || !result.text?.includes(call.expected)) {
      return [
        `${where}: expected ${JSON.stringify(call.expected)}, got ${JSON.stringify(result.text?.slice(0, 200))}`,
      ];
    }
    return [];
  });
}
