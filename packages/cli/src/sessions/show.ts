import { oneLine } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import { rowsNamed } from "../store/choose-rows.ts";
import { type CallRow, lookInto, type SessionRow, toAnswer } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { count, printBytes, printDuration, printTime } from "../store/print-values.ts";
import { type StoreOptions, typed } from "../store/store-options.ts";
import { callsOf, connectionOf, outcomeOf, placeOf, sessionJson } from "./describe-session.ts";

/** Shows all that a person may see of one session. */
export async function showSession(
  name: string,
  options: StoreOptions,
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const { sessions, calls } = await lookInto(opened, command);
    const [row] = rowsNamed(sessions, [name]);
    const now = Date.now();
    if (options.json) {
      printJson(command, sessionJson(row!, calls, now));
      return;
    }
    const waits = callsOf(row!, calls);
    print(command, renderTable(facts(row!, now, waits)));
    print(command, nextStep(row!, waits, options));
  });
}

function facts(row: SessionRow, now: number, waits: readonly CallRow[]): string[][] {
  const { details, agent, owner } = row;
  const { server, protocolVersion, startedAt, tools, idleTimeoutMs, origins } = details;
  const all: [string, string | undefined][] = [
    ["row", row.row],
    ["owner", owner],
    ["agent", agent ?? "none: agents share it"],
    ["agent session", placeOf(row)],
    ["connection", connectionOf(row)],
    ["state", outcomeOf(row)],
    ["servers", origins.length > 0 ? origins.join(", ") : undefined],
    ["server says", server && oneLine(`${server.name} ${server.version}`)],
    ["revision", protocolVersion && oneLine(protocolVersion)],
    ["started", startedAt === undefined ? undefined : printTime(startedAt)],
    ["last used", `${printTime(row.lastUsedAt)}, ${printDuration(now - row.lastUsedAt)} ago`],
    [
      "ends after",
      idleTimeoutMs === undefined ? undefined : `${printDuration(idleTimeoutMs)} without use`,
    ],
    ["size", printBytes(row.bytes)],
    ["tools kept", tools && `${tools.count}, listed ${printTime(tools.listedAt)}`],
    ["waits", waits.map((each) => each.row).join(", ") || undefined],
  ];
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}

function nextStep(row: SessionRow, waits: readonly CallRow[], options: StoreOptions): string {
  if (row.isSealed) return "It is sealed. Give its key with --key-env to see more.";
  if (waits[0])
    return `${count(waits.length, "call")} of its agent session not answered: ${toAnswer(waits[0], options)}`;
  return `To end it: ${typed(["sessions", "end", row.row], options, row.details.origins)}`;
}
