import { abortable, manageSlot, isLost, within, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionManagement, ServerCheck } from "../connection/live-connection.ts";
import { endpointOf, isStateful } from "../declare/define-connection.ts";
import type { SharedClient } from "../connection/shared-client.ts";
import { describeSnapshot } from "../records/kept-session.ts";
import type { HttpParts } from "./http-parts.ts";

/** @param ask asks the server with the live client. Rejects with the reason why it did not answer */
export function manageHttp(
  parts: HttpParts,
  client: SharedClient,
  ask: (signal: AbortSignal) => Promise<void>,
): ConnectionManagement {
  const { definition, context, slot, exceptSlot, now } = parts;
  const { connection } = context;
  const slots = [slot, exceptSlot].filter((each) => each !== undefined);
  const use = { definition, connection, principal: context.principal!, now };

  const askLive = async (timeoutMs: number): Promise<ServerCheck> => {
    const signal = withTimeLimit(timeoutMs, context.abortSignal);
    try {
      await abortable(ask(signal), signal);
      return { alive: true };
    } catch (error) {
      if (signal.aborted) return { alive: false, reason: "timeout" };
      const { code, data } = parts.unavailable(error);
      if (code === "AUTHORIZATION_REQUIRED") {
        return { alive: false, reason: "authorization-required" };
      }
      const { status } = data;
      const reason = status === undefined ? "unreachable" : "refused";
      return { alive: false, reason, ...(status !== undefined && { status }) };
    }
  };

  return {
    inspect() {
      const { snapshot } = slot ?? {};
      return {
        ...client.inspect(),
        ...(snapshot && describeSnapshot(snapshot)),
        ...(parts.use.lastAt !== undefined && { lastUsedAt: parts.use.lastAt }),
      };
    },
    async check(timeoutMs) {
      const { snapshot } = slot ?? {};
      if (snapshot?.kind === "session") {
        const { pingSession } = await import("../connection/end-mcp-session.ts");
        const { alive, reason, status } = await pingSession({ ...use, snapshot, timeoutMs });
        return { alive, ...(reason && { reason }), ...(status !== undefined && { status }) };
      }
      if (client.isBegun() && !isLost(snapshot)) return await askLive(timeoutMs);
      return { alive: false, reason: isStateful(definition) ? "no-session" : "not-connected" };
    },
    async restart(timeoutMs) {
      // A session that is being started would take the place of the one that is given up.
      await within(timeoutMs, Promise.all(slots.map((each) => each.settle())));
      const given = slots.map((each) => manageSlot(each).giveUp());
      // A client without a session has nothing else that could be restarted.
      if (given.every((session) => session === undefined)) client.replace();
      const ends = given.map(async (snapshot) => {
        if (snapshot === undefined) return { ended: true };
        if (snapshot.url !== endpointOf(definition)) {
          return { ended: false, reason: "undeclared" as const };
        }
        const { endMcpSession } = await import("../connection/end-mcp-session.ts");
        return await endMcpSession({ ...use, snapshot, timeoutMs });
      });
      const outcomes = await Promise.all(ends);
      return outcomes.find(({ ended }) => !ended) ?? outcomes[0] ?? { ended: true };
    },
    forgetTools: () => slots.forEach((each) => manageSlot(each).forgetTools()),
  };
}
