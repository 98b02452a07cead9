import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { parseRecordOwner } from "@durable-mcp/ai-sdk/internal";
import type { Principal } from "@durable-mcp/core";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import type { CallRow } from "../store/look.ts";
import { type OpenedStore, reread } from "../store/open-store.ts";

/** A waiting call, and the sessions through which it is answered or taken back. */
export interface OperatedCall {
  readonly call: WaitingRecord;
  readonly sessionId: string;
  readonly principal: Principal;
  /** Durable sessions with the call's one connection. They open none. */
  readonly open: (
    headers?: Readonly<Record<string, string>>,
    onExpired?: "fail" | "ask-again",
  ) => ReturnType<typeof createDurableSessions>;
}

/** @throws {CommandFailure} for a call that cannot be read, or is not found under its key */
export async function operate(opened: OpenedStore, row: CallRow): Promise<OperatedCall> {
  const { call, stored, isSealed, isNewer } = row;
  if (isSealed) throw wrongUsage("--key-env is missing: the call is sealed.");
  if (isNewer)
    throw new CommandFailure("A later release wrote this call, and only that one acts on it.");
  const principal = parseRecordOwner(stored.owner);
  if (call === undefined || principal === undefined)
    throw new CommandFailure(
      "The call cannot be read. sessions end deletes it with its agent session.",
    );
  if ((await reread(opened, row)) === undefined)
    throw new CommandFailure("The call is not kept any more: another process has removed it.");
  const { agent, sessionId } = stored.of;
  const open: OperatedCall["open"] = (headers = {}, onExpired = "fail") =>
    createDurableSessions({
      connections: {
        [call.connection]: defineMcpClientConnection({
          url: call.url,
          description: "A server of which only the store knows.",
          input: {
            mode: "pause",
            onExpired,
            maxAgeMs: Math.max(1, call.expiresAt - call.askedAt),
          },
          headers,
        }),
      },
      store: opened.store,
      ...(agent === null ? { share: true } : { agent }),
      onEvent: () => undefined,
    });
  return { call, sessionId, principal, open };
}
