import { guarded, plainText } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "./connection-event.ts";
import type { ConnectionTelemetry } from "./connection-telemetry.ts";
import type { EventStep, Tell } from "./step-events.ts";

/** The events that change what a user gets, or what the application has to do. */
const applicationTypes = [
  ...(["lost", "restored", "recovered", "discarded", "start-failed"] as const),
  ...(["unavailable", "authorization-required", "tools-changed", "notification"] as const),
  ...(["waiting-call", "answer-unsure", "conflict", "not-ended"] as const),
  ...(["close-failed", "store-failed", "ended-by-operator"] as const),
] satisfies ConnectionEvent["type"][];

/** Events that say what is wrong with a definition, a server or the application's code. */
type WarningReason = Extract<
  ConnectionEvent["type"],
  | ("tools-unmatched" | "tools-need-tasks" | "tools-collide" | "capabilities-missing")
  | (
      | "list-cut"
      | "ids-vary"
      | "era-unknown"
      | "stream-taken"
      | "cannot-wait"
      | "cannot-ask"
      | "session-unused"
      | "used-after-run"
    )
>;

/**
 * An event that an application's `onEvent` gets. An event log, telemetry and `{ every }` get all of `ConnectionEvent`.
 *
 * `warning`: something is wrong with the definition of a connection, its server or the application's code. `reason` is
 * the type of the `ConnectionEvent`, and `message` says what to do.
 */
export type ApplicationEvent =
  | Extract<ConnectionEvent, { type: (typeof applicationTypes)[number] }>
  | (Pick<ConnectionEvent, "connection" | "name" | "shared"> & {
      readonly type: "warning";
      readonly reason: WarningReason;
      readonly message: string;
    });

/** Gets every event, as an event log does. */
export interface EventObserver {
  readonly every: Tell;
}

/** A function gets the events for applications; `every` gets all. */
export type OnEvent = ((event: ApplicationEvent, step?: EventStep) => void) | EventObserver;

/** The event as an application gets it; `undefined` for one that only a log and telemetry get. */
function forApplication(event: ConnectionEvent): ApplicationEvent | undefined {
  const message = warningOf(event);
  if (message === undefined) {
    const isOwn = applicationTypes.some((type) => type === event.type);
    return isOwn ? (event as ApplicationEvent) : undefined;
  }
  const { connection, name, shared } = event;
  const about = { connection, ...(name !== undefined && { name }), ...(shared && { shared }) };
  return { ...about, type: "warning", reason: event.type as WarningReason, message };
}

/** What an event and an error say of a call whose server asks a person. */
export const cannotAsk =
  "the server asks a person something, and this connection lets nobody answer, so the call was not carried out. Add waiting: true, and calls wait; or answer within the step with onElicitation.";

const cannotWait = {
  "no-task":
    "a call takes longer than its step waits, and its server only lets tasks wait: the call ends with its process. Have the server make a task of it.",
  "no-event-id":
    'a call takes longer than its step waits, and its server gives no event ids, so no other process can have the answer: the call ends with its process. Have the server make a task of it, or give its streams event ids. If it asks a person, leave "person" out of waiting.for, and answer within the step with onElicitation.',
  unheard:
    'a call ended with a time-out of the server: it may have asked a person, and not on the stream of the call, where nobody hears it. Leave "person" out of waiting.for, and answer within the step with onElicitation; or have the server ask on the stream of the call.',
};

/** What is wrong, and what to do; `undefined` for an event that is no warning. */
function warningOf(event: ConnectionEvent): string | undefined {
  switch (event.type) {
    case "ids-vary":
      return "the server names another session with each answer, so a lost session would not be noticed. If it runs in replicas that do not share sessions, send all requests of a session to one replica.";
    case "stream-taken":
      return "another step listens on the same session, and the server takes one listener: this step hears no notification, and no question but on the stream of its own call. Let such steps follow one another, or give one a session of its own.";
    case "list-cut":
      return `the answers to ${event.method} do not end: there are 100 pages, or one names the nextCursor of another. What came is used. The server has to be fixed: the last page must not have a nextCursor.`;
    case "cannot-wait":
      return cannotWait[event.reason];
    case "cannot-ask":
      return cannotAsk;
    case "era-unknown":
      return "the server, or what stands before it, twice had no answer to which revisions it speaks, so this step does without 2026-07-28: its questions and tasks fail. The next step asks again.";
    case "session-unused":
      return 'the server gives session ids, and this connection keeps none: add session: "stateful", or "stateless" if each step may begin anew.';
    case "used-after-run":
      return "a tool was called after its run was over, and failed. In a run, wait for all that it starts, or return a stream: the run lasts as long as the stream.";
    case "capabilities-missing":
      // A session that was replaced is told by another event.
      if (event.isRestarted) return undefined;
      return `the kept session was made without ${event.capabilities.join(", ")}, and goes on without. Restart it, or set session.restartOnNewCapabilities.`;
    case "tools-collide":
      return `${collisionInWords(event.toolName, event.tools)} None of them is offered.`;
    case "tools-need-tasks":
      return `tools that the server only runs as tasks are not offered: ${event.tools.join(", ")}. Add waiting: true, and their calls may be tasks.`;
    case "tools-unmatched":
      return `${event.option} names tools that there are none of: ${event.tools.join(", ")}. Compare it with the server's own names of its tools.`;
  }
  return undefined;
}

/** Says which tools of connections have one name for the model, and what to do about it. */
export function collisionInWords(
  name: string,
  tools: readonly { readonly connection: string; readonly tool: string }[],
): string {
  const own = tools.map(({ connection, tool }) => `${tool} of connection ${connection}`);
  return `Tools of several connections have the same name ${JSON.stringify(name)}: ${own.join(", ")}. Give one of the connections another toolNames.prefix, or leave the tool out with tools.block.`;
}

/**
 * A function that passes events to the telemetry, and then those of the application to it. Their errors are dropped.
 */
export function createTeller(
  telemetry: ConnectionTelemetry | undefined,
  onEvent: OnEvent = warnOnConsole(),
): Tell {
  const measure = guarded((event: ConnectionEvent) => telemetry?.observe?.(event));
  const observe = guarded(({ event, step }: { event: ConnectionEvent; step?: EventStep }) => {
    if (typeof onEvent === "object") return onEvent.every(event, step);
    const told = forApplication(event);
    return told && onEvent(told, step);
  });
  const unusedSessions = new Set<string>();
  return (event, step) => {
    if (event.type === "session-unused") {
      if (unusedSessions.has(event.connection)) return;
      unusedSessions.add(event.connection);
    }
    measure(event);
    observe({ event, ...(step && { step }) });
  };
}

/**
 * An `onEvent` for applications without one. It says on the console what would otherwise go unnoticed: a store that
 * fails in the background, tools that are missing, a person's answer with an unknown outcome. What a connection is
 * about is said once for each reason, however many steps meet it.
 */
function warnOnConsole(): (event: ApplicationEvent) => void {
  const said = new Set<string>();
  return (event) => {
    const warning = consoleWarning(event);
    if (warning === undefined) return;
    const { about, text } = warning;
    const key = about && JSON.stringify([event.connection, event.type, ...about]);
    if (key !== undefined && said.has(key)) return;
    if (key !== undefined) said.add(key);
    const start = text.startsWith("Connection ") ? "" : `Connection ${event.connection}: `;
    const end = key === undefined ? "" : " (This is said once. Give onEvent to hear of each.)";
    // It may name what a server names.
    console.warn(plainText(`${start}${text}${end}`));
  };
}

/** @returns with what tells reasons apart, if the warning is to come once for each */
function consoleWarning(
  event: ApplicationEvent,
): { readonly text: string; readonly about?: readonly unknown[] } | undefined {
  switch (event.type) {
    case "warning":
      return { text: event.message, about: [event.reason, event.message] };
    case "store-failed":
      return { text: event.error.message };
    case "waiting-call":
      return event.state === "outcome-unknown" ? { text: unknownOutcome(event) } : undefined;
    case "answer-unsure":
      return event.delivery === "unsure"
        ? { text: lostAnswer(event), about: [event.tool] }
        : undefined;
    case "unavailable":
      return {
        text: event.error.message,
        about: [event.error.code, event.reason, event.error.data.status, event.error.data.field],
      };
    case "authorization-required":
      return { text: event.error.message, about: [event.scopes] };
  }
  return undefined;
}

function lostAnswer({ tool }: { readonly tool: string }): string {
  return `a person's answer to the question of ${tool} was perhaps lost on its way. It goes out again, in later looks too, and the question is not listed again.`;
}

function unknownOutcome({
  tool,
  round,
}: {
  readonly tool: string;
  readonly round: number;
}): string {
  // Before the first question a call waits for a sign-in, or for its server.
  const what = round === 0 ? `a call of ${tool}` : `a person's answer to the question of ${tool}`;
  return `${what} was perhaps sent, and nobody knows whether the call was carried out. It is not sent again; look at the server. Tools that may run twice can be named in waiting.safeTools.`;
}
