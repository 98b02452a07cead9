import { oneLine } from "@durable-mcp/core/internal";
import { describeWaiting, type WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { Command } from "commander";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import { filterLook, type RowFilter } from "../store/choose-rows.ts";
import { type CallRow, chooseCalls, isOpen, type Look, lookInto } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { printAge, printTime } from "../output/print-values.ts";
import { type StoreOptions, typed } from "../store/store-options.ts";
import { questionsOf } from "./question.ts";

interface ListOptions extends StoreOptions, RowFilter {
  readonly all?: true;
}

/** Lists the calls of a store that wait. */
export async function listWaiting(options: ListOptions, command: Command): Promise<void> {
  await withStore(options, async (opened) => {
    const choose = (look: Look<CallRow>) => filterLook(look, options).calls;
    const shown = options.all
      ? choose(await lookInto(opened, command, options))
      : await chooseCalls(opened, command, (look) => choose(look).filter(isOpen));
    const now = Date.now();
    if (options.json) {
      printJson(command, { store: opened.name, calls: shown.map((row) => callJson(row, now)) });
      return;
    }
    if (shown.length === 0) {
      const more = options.all ? "" : " --all also shows what is over or of an earlier release.";
      print(command, `Nothing waits in ${opened.name}.${more}`);
      return;
    }
    const rows = shown.map((row) => cells(row, now));
    print(command, renderTable(rows, { head }));
    for (const row of shown) {
      if (stateOf(row, now) !== "waiting" || row.call?.type !== "question") continue;
      const words = ["waiting", "answer", row.row];
      print(command, `To answer: ${typed(words, options, [new URL(row.call.url).origin])}`);
      break;
    }
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
    call ? `${printAge(now - call.askedAt)} ago` : "",
    whatToDo(row, now),
  ];
}

/** The tool or prompt of a call, or the resource's URI, and its connection. */
export function calledOf(call: WaitingRecord | undefined): string {
  return call === undefined ? "" : oneLine(`${call.connection}: ${toolOf(call)}`, 60);
}

function toolOf({ request: { method, params } }: WaitingRecord): string {
  return String(params[method === "resources/read" ? "uri" : "name"]);
}

/** What a person has to do for a call, in one line. */
export function whatToDo(row: CallRow, now: number): string {
  const { call, isSealed, isNewer } = row;
  if (isSealed) return "sealed: --key-env opens it";
  if (isNewer) return "written by a later release";
  if (call === undefined) return "does not parse";
  switch (stateOf(row, now)) {
    case "waiting":
      break;
    case pastItsTime:
      return "asked too long ago; the application says whether it may be asked again";
    case "answering":
      return "an answer is on its way";
    case "settled":
      if (call.isDelivered) return "nothing: the conversation has the result";
      return "answered; the next step that resumes its messages gets the result";
    default:
      return call.state;
  }
  if (call.type === "call-waits-for-sign-in")
    return `the user signs in to ${oneLine(call.connection)} in the application, if that is not done; the next step then carries the call out`;
  if (call.type === "sub-agent") return "nothing: the calls of the agent in it are listed, too";
  if (call.type === "watch") return "nothing: it watches for news, and the application looks";
  if (call.pollAfter !== undefined)
    return "nothing: its server works on it, and the application looks";
  const [first, ...others] = questionsOf(call);
  if (first === undefined) return "its server only wants the request again";
  const page = first.mode === "url" ? "a page to open: " : "";
  return `${page}${oneLine(first.message, 120)}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

export const pastItsTime = "past its time";

/** The state of a call as it is by now. A look writes nothing, so time has not ended it in the store yet. */
export function stateOf({ call, isSealed }: CallRow, now: number): string {
  if (isSealed || call === undefined) return isSealed ? "sealed" : "unreadable";
  const mayBeLate =
    call.state === "waiting" && call.type !== "sub-agent" && call.pollAfter === undefined;
  const isLate = mayBeLate && call.expiresAt <= now;
  return isLate ? pastItsTime : call.state;
}

/** A call for `--json`, with its questions as the server asked them, and without anything secret. */
export function callJson(row: CallRow, now: number) {
  const { call, agent, agentSession, owner } = row;
  const common = { row: row.row, owner, agent, agentSession, state: stateOf(row, now) };
  if (call === undefined) return common;
  const { connection, type, server, method, tool, round } = describeWaiting(call);
  const { askedAt, expiresAt, requests } = call;
  return {
    ...{ ...common, connection, type, server, method },
    ...{ tool, round, askedAt: printTime(askedAt) },
    ...{ expiresAt: printTime(expiresAt), todo: whatToDo(row, now), questions: requests },
  };
}
