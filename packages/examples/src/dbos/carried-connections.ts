import { type SealingKeys, sealState, unsealState } from "@durable-mcp/core/sealing";
import type { ConnectionProvider, Principal } from "@durable-mcp/ai-sdk";
import type { ToolSet } from "ai";

/** The connections of one agent session, in the steps of any engine. */
export interface CarriedConnections {
  /**
   * Goes on in the MCP sessions of the steps before, uses their tools, and hands on what the next
   * step needs.
   *
   * @param sealed what the step before returned as `sealed`; `undefined` starts new sessions
   * @returns plain values, to be the result of an engine's step. Its log holds session ids sealed
   *   only
   */
  use<RESULT>(
    sealed: string | undefined,
    work: (tools: ToolSet) => Promise<RESULT>,
  ): Promise<{ result: RESULT; sealed: string }>;
}

/** @param bound what a sealed state counts for: one agent session of one principal */
export function carryConnections(
  provider: ConnectionProvider,
  bound: { keys: SealingKeys; sessionId: string; principal: Principal },
): CarriedConnections {
  return {
    async use(sealed, work) {
      const { state, reason } = await unsealState(sealed, bound);
      if (reason !== undefined) console.warn(`The carried state was not used: ${reason}.`);
      const run = provider.create({ state, principal: bound.principal });
      let result: Awaited<ReturnType<typeof work>>;
      try {
        result = await work(await run.tools({ onUnavailable: "throw" }));
      } finally {
        await run.dispose();
      }
      const session = provider.commit(run, { state });
      const next = await sealState(session.state, bound);
      if (next.sealed === undefined) throw new Error("The state is too large to be carried.");
      return { result, sealed: next.sealed };
    },
  };
}
