import { expect } from "vitest";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { callsOf } from "../../sessions/test/calls-of.ts";
import type { ScriptedTurn } from "./app/workflows.ts";
import { sealed, stored } from "./app/connections.ts";
import { alice, type useTestApp } from "./test-app.ts";

const owner = { principal: alice };

/** A call of the shop, whose id for the model names the item. */
export const order = (item: string) => ({
  tool: "shop__order",
  input: { item },
  toolCallId: `of ${item}`,
});

/** Begins runs that call tools of the connection `shop` for Alice. */
export function useShop(app: ReturnType<typeof useTestApp>) {
  return async (turns: readonly ScriptedTurn[], isStored = false) => {
    const sessionId = crypto.randomUUID();
    const run = await app.beginScripted({ connections: ["shop"], isStored, sessionId, turns });
    const { runId } = run;
    const steps = isStored ? stored : sealed;
    return {
      ...{ run, runId, steps },
      /** The questions of the run, when there are as many, all of this round. */
      questions: async (count = 1, round = 1): Promise<WaitingCall[]> => {
        let asked: WaitingCall[] = [];
        await expect
          .poll(async () => {
            asked = callsOf(await steps.waiting(runId, owner));
            return asked.map((call) => call.round);
          })
          .toEqual(Array<number>(count).fill(round));
        return asked;
      },
    };
  };
}
