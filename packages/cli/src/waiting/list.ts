import type { Command } from "commander";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import { filterLook, type RowFilter } from "../store/choose-rows.ts";
import { type CallRow, isOpen, lookInto, toAnswer } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { count, printDuration } from "../output/print-values.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { calledOf, callJson, stateOf, whatToDo } from "./describe-question.ts";

interface ListOptions extends StoreOptions, RowFilter {
  readonly all?: true;
}

/** Lists the calls of a store that wait for a person. */
export async function listWaiting(options: ListOptions, command: Command): Promise<void> {
  await withStore(options, async (opened) => {
    const { calls } = filterLook(await lookInto(opened, command), options);
    const now = Date.now();
    const shown = options.all ? calls : calls.filter(isOpen);
    if (options.json) {
      printJson(command, { store: opened.name, calls: shown.map((row) => callJson(row, now)) });
      return;
    }
    if (shown.length === 0) {
      const over =
        calls.length > 0 ? ` ${count(calls.length, "call")} over: --all shows them.` : "";
      print(command, `Nothing waits for a person in ${opened.name}.${over}`);
      return;
    }
    print(
      command,
      renderTable(
        shown.map((row) => cells(row, now)),
        { head },
      ),
    );
    const first = shown.find(
      (row) => stateOf(row, now) === "waiting" && row.call?.kind === "input",
    );
    if (first) print(command, `To answer: ${toAnswer(first, options)}`);
  });
}

const head = [
  "row",
  "owner",
  "agent\nsession",
  "tool",
  "state",
  "asked",
  "what a person has to do",
];

function cells(row: CallRow, now: number): string[] {
  const { call } = row;
  return [
    ...[row.row, row.owner, row.agentSession ?? ""],
    calledOf(call),
    stateOf(row, now),
    call ? `${printDuration(Math.max(0, now - call.askedAt))} ago` : "",
    whatToDo(row, now),
  ];
}
