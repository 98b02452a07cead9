import {
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessions,
} from "@durable-mcp/ai-sdk";
import { parseRecordOwner } from "@durable-mcp/ai-sdk/internal";
import type { Command } from "commander";
import { confirmAct } from "../output/ask.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import { count } from "../output/print-values.ts";
import { rowsNamed } from "../store/choose-rows.ts";
import { type CallRow, lookInto } from "../store/look.ts";
import { type OpenedStore, reread, withStore } from "../store/open-store.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { calledOf, whatToDo } from "./list.ts";

/** Takes waiting calls back. No server is told: it keeps nothing of a call. */
export async function withdrawWaiting(
  names: readonly string[],
  options: StoreOptions & { readonly yes?: true },
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const { calls } = await lookInto(opened, command);
    const rows = rowsNamed(calls, names);
    const now = Date.now();
    for (const row of rows) {
      tell(command, `${row.row}  ${row.owner}  ${calledOf(row.call)}  ${whatToDo(row, now)}`);
    }
    await confirmAct(`Withdraw ${count(rows.length, "call")}? The model is told.`, options);
    for (const row of rows) {
      const { call, sessionId, principal, open } = await operate(opened, row);
      // One whose time is up is taken back as any other.
      await open("ask-again").withdraw(sessionId, call.id, { principal });
    }
    if (options.json) printJson(command, { withdrawn: rows.map(({ row }) => row) });
    else print(command, `Withdrawn: ${count(rows.length, "call")}. None of them was carried out.`);
  });
}

/**
 * A waiting call, and how the sessions are opened through which it is answered or taken back.
 *
 * @throws {CommandFailure} for a call that cannot be read, or is not found under its key
 */
export async function operate(opened: OpenedStore, row: CallRow) {
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
  /** Durable sessions with the call's one connection. They open none. */
  const open = (
    onExpired: "fail" | "ask-again",
    headers: Readonly<Record<string, string>> = {},
  ): DurableSessions =>
    createDurableSessions({
      connections: {
        [call.connection]: defineMcpClientConnection({
          url: call.url,
          description: "A server that only the store knows.",
          waiting: {
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
