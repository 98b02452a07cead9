import type { Command } from "commander";
import { confirmAct } from "../output/ask.ts";
import { print, printJson, tell } from "../output/print.ts";
import { rowsNamed } from "../store/choose-rows.ts";
import { lookInto } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { count } from "../output/print-values.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { calledOf, whatToDo } from "./describe-question.ts";
import { operate } from "./operator-sessions.ts";

interface WithdrawOptions extends StoreOptions {
  readonly yes?: true;
}

/** Takes waiting calls back. No server is told: it keeps nothing of a call. */
export async function withdrawWaiting(
  names: readonly string[],
  options: WithdrawOptions,
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
      await open({}, "ask-again").withdraw(sessionId, call.id, { principal });
    }
    if (options.json) printJson(command, { withdrawn: rows.map(({ row }) => row) });
    else print(command, `Withdrawn: ${count(rows.length, "call")}. None of them was carried out.`);
  });
}
