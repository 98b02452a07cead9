import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { DurableSessions } from "@durable-mcp/sessions";
import { parseRecordOwner } from "@durable-mcp/sessions/internal";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { Command } from "commander";
import { confirmAct, hasPerson } from "../output/ask.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import { count } from "../output/print-values.ts";
import { rowsNamed } from "../store/choose-rows.ts";
import { type CallRow, chooseCalls } from "../store/look.ts";
import { type OpenedStore, reread, withStore } from "../store/open-store.ts";
import { accessTo, type ServerOptions } from "../store/server-access.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { calledOf, whatToDo } from "./list.ts";

/** Who answers a call and takes it back, for the event. */
export const by = "durable-mcp waiting";

/** Takes waiting calls back. A server that works on one is asked to stop, and the model is told. */
export async function withdrawWaiting(
  names: readonly string[],
  options: StoreOptions & ServerOptions & { readonly yes?: true },
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const rows = await chooseCalls(opened, command, ({ calls }) => rowsNamed(calls, names));
    const now = Date.now();
    for (const row of rows) {
      tell(command, `${row.row}  ${row.owner}  ${calledOf(row.call)}  ${whatToDo(row, now)}`);
    }
    const begun = rows.flatMap(({ call }) => (call && isBegun(call) ? [new URL(call.url)] : []));
    const origins = begun.map(({ origin }) => origin);
    const isAsked = !options.yes && hasPerson();
    const access = accessTo(origins, options, { isAsked, otherwise: "" });
    const told = ["the model", ...access.origins].join(" and ");
    const question = `Withdraw ${count(rows.length, "call")}, and tell ${told}${access.withWhat}?`;
    await confirmAct(question, options);
    for (const row of rows) {
      const { call, sessionId, principal, open } = await operate(opened, row);
      // One whose time is up is taken back as any other.
      await open("ask-again", access.headers).admin.withdraw(
        { sessionId, principal, call },
        { by },
      );
    }
    if (options.json) printJson(command, { withdrawn: rows.map(({ row }) => row) });
    else {
      const fate =
        begun.length > 0
          ? "How far servers and sub-agents had got is unknown."
          : "None of them was carried out.";
      print(command, `Withdrawn: ${count(rows.length, "call")}. ${fate}`);
    }
  });
}

/** Whether a server may work on a call, or on one in it: of a watch it knows nothing. */
function isBegun({ type, held }: WaitingRecord): boolean {
  return (held !== undefined && type !== "watch") || type === "sub-agent";
}

/**
 * A waiting call, and how the sessions are opened through which it is answered or taken back.
 *
 * @throws {CommandFailure} for a call that cannot be read, or is not found under its key
 */
export async function operate(opened: OpenedStore, row: CallRow) {
  const { call, stored } = row;
  const principal = parseRecordOwner(stored.owner);
  if (call === undefined || principal === undefined)
    throw new CommandFailure(`The call cannot be acted on: ${whatToDo(row, Date.now())}.`);
  if ((await reread(opened, row)) === undefined)
    throw new CommandFailure("The call is not kept any more: another process has removed it.");
  const { agent, sessionId } = row.of;
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
