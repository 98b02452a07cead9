import type { ConnectionEvent } from "@durable-mcp/ai-sdk";
import { McpSessionError } from "@durable-mcp/core";
import type { Call, Chat, LogEntry } from "./chat.ts";
import { allowanceMs } from "./waits.ts";

/** Read at the servers, past the faults. */
export interface Evidence {
  /** How often a tool ran with this text. */
  readonly runs: (text: string) => number;
  /** Whether a request with this text arrived anywhere; `undefined` when nobody looked. */
  readonly arrived?: (text: string) => boolean;
}

export type Verdict = "answered" | "refused" | "unknown" | "fault";

export interface JudgedCall {
  readonly verdict: Verdict;
  /** With a fault: what is wrong. */
  readonly fault?: string;
}

const fault = (text: string): JudgedCall => ({ verdict: "fault", fault: text });

/** Whether a call was answered right, refused clearly, or of unknown outcome; all else is a fault. */
export function judgeCall({ text, tool, outcome }: Call, { runs, arrived }: Evidence): JudgedCall {
  const times = runs(text);
  if (times > 1) return fault(`doubled: ${text} ran ${times} times`);
  switch (outcome.type) {
    case "answered": {
      const isOwn = tool === "echo" ? outcome.answer === text : /^\d+ notes$/.test(outcome.answer);
      if (!isOwn) return fault(`crossed: ${text} was answered ${outcome.answer.slice(0, 80)}`);
      return times === 1 ? { verdict: "answered" } : fault(`${text} was answered and never ran`);
    }
    case "killed":
      return { verdict: "unknown" };
    case "hung":
      return fault(`hung: ${text} had no answer`);
    case "no tool": {
      const reports = outcome.events.filter(({ type }) => type === "unavailable");
      if (reports.length === 0) return fault("silent: a step without tools, and no event");
      if (times > 0) return fault(`${text} ran, without a tool`);
      const vague = reports.find((event) => isVague(messageOf(event)));
      return vague ? fault(`vague: ${messageOf(vague)}`) : { verdict: "refused" };
    }
    default:
      return judgeFailure(outcome.error, times, arrived?.(text));
  }
}

function judgeFailure(error: unknown, times: number, hasArrived: boolean | undefined): JudgedCall {
  if (!McpSessionError.isInstance(error)) {
    // A JSON-RPC error is the server's own answer.
    const isAnswer = typeof (error as { code?: unknown } | null)?.code === "number" && times === 0;
    return isAnswer ? { verdict: "refused" } : fault(`raw error: ${describe(error)}`);
  }
  const { code, message } = error;
  if (code === "OUTCOME_UNKNOWN") {
    // A connection that breaks keeps to itself what had gone through.
    const claims = message.includes("the server took the request") && hasArrived === false;
    return claims ? fault(`wrong word: it never arrived, and ${message}`) : { verdict: "unknown" };
  }
  if (isVague(message)) return fault(`vague: ${message}`);
  // A gateway that refuses does not know what its server did.
  if (code === "CONNECTION_UNAVAILABLE" && /carried out is unknown/.test(message)) {
    return { verdict: "unknown" };
  }
  if (times > 0) return fault(`wrong word: it ran, and told ${code}: ${message}`);
  return { verdict: "refused" };
}

/** It sends its reader to an error that nobody has. */
function isVague(message: string): boolean {
  return message === "" || message.includes("the cause of the thrown error says why");
}

function messageOf(event: ConnectionEvent): string {
  return "error" in event ? event.error.message : "";
}

export function describe(error: unknown): string {
  const { name = typeof error, message = String(error) } = (error ?? {}) as Partial<Error>;
  return `${name}: ${message}`.slice(0, 200);
}

/** What is wrong with a chat as a whole: its session's notes, its waits, and what its application was told. */
export function judgeChat(chat: Chat): string[] {
  const faults = [...chat.faults];
  for (const { phase, ms, limitMs } of chat.waits) {
    if (ms > limitMs + allowanceMs) {
      faults.push(`late: ${phase} took ${Math.round(ms)} of ${limitMs} ms`);
    }
  }
  if (chat.options.keepsSession && chat.log.some(isReplacement)) {
    faults.push("lost: a session that the server has was given up");
  }
  return [...faults, ...judgeNotes(chat), ...judgeNotices(chat)];
}

function judgeNotes({ notes, log, options }: Chat): string[] {
  const { id, isStateless, keepsNothing } = options;
  if (isStateless) return [];
  if (notes === undefined) return ["lost: the last step could not read the notes"];
  const foreign = notes.filter((note) => !note.startsWith(`<${id} `));
  const doubled = notes.filter((note, index) => notes.indexOf(note) !== index);
  const isTold = keepsNothing && log.some(isReplacement);
  const missing = notesSinceReplacement(log).filter((note) => !isTold && !notes.includes(note));
  return [
    ...foreign.map((note) => `crossed: ${note} is in another session`),
    ...doubled.map((note) => `doubled: ${note} is there twice`),
    ...missing.map((note) => `lost: ${note} was answered, and is gone without a word`),
  ];
}

/** The notes that were answered since the session was last replaced, as the application was told. */
function notesSinceReplacement(log: readonly LogEntry[]): string[] {
  return log
    .slice(log.findLastIndex(isReplacement) + 1)
    .flatMap((entry) => (entry.type === "answered" && entry.note ? [entry.note] : []));
}

/** A loss that was taken back is none. */
function isReplacement(entry: LogEntry, index: number, log: readonly LogEntry[]): boolean {
  if (entry.type !== "event") return false;
  if (entry.event !== "lost") return ["recovered", "discarded"].includes(entry.event);
  const next = log
    .slice(index + 1)
    .find((later) => later.type === "event" && ofLosses.has(later.event));
  return !(next?.type === "event" && next.event === "restored");
}

const ofLosses: ReadonlySet<string> = new Set(["lost", "restored", "recovered"]);

function isRecovery(entry: LogEntry): boolean {
  return entry.type === "event" && entry.event === "recovered";
}

/** After a recovery one of the next results has to tell the model. */
function judgeNotices({ log }: Chat): string[] {
  const answers = log
    .slice(log.findLastIndex(isRecovery) + 1)
    .filter((entry) => entry.type === "answered");
  const isDue = log.some(isRecovery) && answers.length > 0;
  if (!isDue || answers.some(({ isTold }) => isTold)) return [];
  return ["silent: the model was not told that its session was replaced"];
}
