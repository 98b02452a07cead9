import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import { count } from "../output/print-values.ts";
import { type AgentSession, findAgentSessions } from "./agent-session.ts";
import { drawPicture } from "./draw-session.ts";
import { readLog } from "./read-log.ts";
import { timelinePage } from "./timeline-page.ts";

/** The options of `timeline`, as the command line has them. */
interface TimelineOptions {
  readonly out: string;
  readonly svg?: string;
  readonly session?: string;
  readonly json?: boolean;
}

/** A page with more steps takes a browser long to show. */
const mostSteps = 300;
const mostSessions = 20;

/** @throws {CommandFailure} if there is nothing to draw, or the files cannot be read or written */
export async function writeTimeline(
  path: string,
  { out, svg, session, json = false }: TimelineOptions,
  command: Command,
): Promise<void> {
  const log = await readLog(path);
  const all = findAgentSessions(log.entries);
  const chosen = choose(all, session, path);
  const notes = logNotes(log);
  const sessions = shorten(chosen, notes);
  const target = svg ?? out;
  if (svg !== undefined && sessions.length > 1) {
    throw wrongUsage(
      `A picture has one agent session, and the log has ${all.length}. Choose one with --session: ${digests(all)}.`,
    );
  }
  const text =
    svg === undefined
      ? timelinePage(sessions, notes)
      : drawPicture(sessions[0]!, "Timeline of an agent session");
  try {
    await writeFile(target, text);
  } catch (error) {
    throw new CommandFailure(
      `${target} cannot be written: ${(error as Error).message}. Its folder has to exist.`,
    );
  }
  if (json) return printJson(command, { file: target, notes, sessions: sessions.map(inBrief) });
  for (const note of notes) tell(command, note);
  const steps = sessions.reduce((sum, each) => sum + each.steps.length, 0);
  const of = sessions.length === 1 ? "an agent session" : `${sessions.length} agent sessions`;
  print(command, `${target} shows ${count(steps, "step")} of ${of}. Open it in a browser.`);
}

function choose(all: readonly AgentSession[], digest: string | undefined, path: string) {
  if (all.length === 0) {
    throw new CommandFailure(
      `${path} has no steps. Give createEventLog of @durable-mcp/ai-sdk/event-log as onEvent, and run a step.`,
    );
  }
  if (digest === undefined) return all;
  const chosen = all.filter((session) => session.digest === digest);
  if (chosen.length > 0) return chosen;
  throw wrongUsage(`The log has no agent session ${digest}. It has ${digests(all)}.`);
}

function digests(all: readonly AgentSession[]): string {
  const named = all.map(({ digest }) => digest || "steps without one");
  const more = named.length - mostSessions;
  return `${named.slice(0, mostSessions).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function logNotes({
  foreignLines,
  isCutOff,
  lostEvents,
}: Awaited<ReturnType<typeof readLog>>): string[] {
  const notes: string[] = [];
  if (foreignLines > 0) {
    const are = foreignLines === 1 ? "is" : "are";
    notes.push(
      `${count(foreignLines, "line")} of the log ${are} not of an event log, and left out.`,
    );
  }
  if (isCutOff) notes.push("The last line of the log has no end, and is left out.");
  if (lostEvents > 0)
    notes.push(
      `The log says that ${count(lostEvents, "event")} could not be written, so something may be missing.`,
    );
  return notes;
}

/** The latest of too many; what is left out becomes a note. */
function shorten(all: readonly AgentSession[], notes: string[]): AgentSession[] {
  const latest = all.slice(-mostSessions);
  if (latest.length < all.length) {
    notes.push(
      `The log has ${count(all.length, "agent session")}. The ${mostSessions} that began last are shown; --session chooses another.`,
    );
  }
  return latest.map((session) => {
    if (session.steps.length <= mostSteps) return session;
    const who =
      session.digest === "" ? "Steps without an agent session" : `Agent session ${session.digest}`;
    notes.push(
      `${who}: the last ${mostSteps} of ${count(session.steps.length, "step")} are shown.`,
    );
    return { ...session, steps: session.steps.slice(-mostSteps) };
  });
}

/** What programs get of a session. */
function inBrief({ digest, steps, spans, waits }: AgentSession) {
  return {
    session: digest,
    steps: steps.map(
      ({ number, process, isAnswer, isEnded, isFailed, from, until, requests, operations }) => ({
        ...{ number, process, isAnswer, isEnded, isFailed, from: new Date(from).toISOString() },
        durationMs: until - from,
        requests: Object.fromEntries(requests),
        calls: operations.filter(({ kind }) => kind === "call").length,
      }),
    ),
    sessions: spans.map(({ lane, number, end }) => ({ lane, number, end })),
    waits: waits.map(({ connection, tool, from, until, state, rounds }) => ({
      ...{ connection, tool, state, rounds: rounds.length },
      durationMs: until === undefined ? undefined : until - from,
    })),
  };
}
