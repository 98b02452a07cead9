import { countOf, type LogEntry, textOf } from "../log/log-entry.ts";
import type { Operation, Step } from "./agent-session.ts";

/** A duration for people: `80 ms`, `2.7 s`, `4 min`, `3 h 20 min`, `2 d 5 h`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return inUnits(seconds, [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ]);
}

/** The largest unit, and the next one if it counts. */
function inUnits(seconds: number, units: readonly (readonly [number, string])[]): string {
  const first = units.findIndex(([size]) => seconds >= size);
  const [size, unit] = units[first]!;
  const count = Math.floor(seconds / size);
  const next = units[first + 1];
  const rest = next && Math.floor((seconds % size) / next[0]);
  return rest && count < 10 ? `${count} ${unit} ${rest} ${next[1]}` : `${count} ${unit}`;
}

/** The number of a process, without what tells it from others of that number. */
export function processText(process: string): string {
  return process.replace(/-[\da-f]+$/, "");
}

export function operationText({ kind, tool }: Pick<Operation, "kind" | "tool">): string {
  const known: Readonly<Record<string, string>> = {
    connect: "handshake",
    list: "list of tools",
    recover: "new session",
    ready: "wait for the server",
  };
  if (kind === "call") return tool ?? "call";
  if (kind === "answer") return tool === undefined ? "answer" : `answer to ${tool}`;
  return Object.hasOwn(known, kind) ? known[kind]! : kind;
}

/** How an operation ended, where that has to be said. */
export function outcomeText({ kind, until, outcome, code }: Operation): string | undefined {
  if (until === undefined) return "no end in the log";
  if (outcome === undefined || outcome === "done") return undefined;
  if (outcome === "tool-error") return "the tool failed";
  if (outcome === "waiting") return kind === "answer" ? "asked again" : "waits";
  return code === undefined ? outcome : `${outcome}: ${code}`;
}

/** What happened in a step beside its operations; `undefined` for what goes without saying. */
export function eventText({ event, fields }: LogEntry): EventText | undefined {
  const reason = textOf(fields, "reason") ?? textOf(fields, "code");
  const why = reason === undefined ? "" : `: ${reason}`;
  const says = eventWords[event];
  if (event === "client" || event === "operation" || event === "step-ended") return undefined;
  if (event === "waiting-call" || event === "notification") return undefined;
  if (event === "tools-changed" && reason === "new-list")
    return { text: "tools changed", isProblem: false };
  if (event === "lost") {
    const status = countOf(fields, "status");
    const by = status === undefined ? "" : ` (${status})`;
    return { text: `session lost${by}`, isProblem: true };
  }
  if (says === undefined) return { text: `${event}${why}`, isProblem: false };
  return { text: `${says.text}${says.isWhy ? why : ""}`, isProblem: says.isProblem };
}

interface EventText {
  readonly text: string;
  readonly isProblem: boolean;
}

const fine = (text: string) => ({ text, isProblem: false, isWhy: false });
const problem = (text: string) => ({ text, isProblem: true, isWhy: true });

const eventWords: Readonly<Partial<Record<string, EventText & { readonly isWhy: boolean }>>> =
  Object.assign(Object.create(null) as object, {
    started: fine("new session"),
    resumed: fine("session kept"),
    recovered: fine("went on in a new session"),
    restored: fine("session not lost after all"),
    sessionless: fine("server without sessions"),
    stateless: fine("revision without sessions"),
    adopted: fine("took another process's session"),
    unavailable: problem("server unavailable"),
    "authorization-required": { ...problem("the user has to sign in"), isWhy: false },
    "start-failed": problem("start of the session failed"),
    "ids-vary": problem("the server varies its session ids"),
    discarded: problem("saved session not used"),
    conflict: problem("another process saved first"),
    "store-failed": problem("store failed"),
    "close-failed": problem("close failed"),
    "not-ended": problem("session not ended on the server"),
    "tools-unmatched": { ...problem("filter names unknown tools"), isWhy: false },
    "tools-need-tasks": { ...problem("tools that need tasks"), isWhy: false },
    "tools-collide": { ...problem("tools with the same name"), isWhy: false },
    "cannot-wait": { ...problem("its calls cannot wait"), isWhy: false },
    "cannot-ask": { ...problem("the server asks, and nobody can answer"), isWhy: false },
    "session-unused": { ...problem("the server's session is not kept"), isWhy: false },
    "used-after-run": { ...problem("a tool was called after the run"), isWhy: false },
  });

/** The calls of a step, and other operations that say something: no handshake that the state answered. */
export function shownOperations({ operations, entries }: Step): Operation[] {
  const has = (event: string, connection: string) =>
    entries.some((entry) => entry.event === event && entry.connection === connection);
  return operations.filter(({ kind, connection }) => {
    if (kind === "list") return false;
    return kind !== "connect" || !has("resumed", connection);
  });
}
