import { plainText } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "./connection-event.ts";

/** What an event and an error say of a call whose server asks a person. */
export const cannotAsk =
  'the server asks a person something, and this connection lets nobody answer, so the call was not carried out. Add input: "pause" (in place of session), and calls wait; or answer within the step with onElicitation.';

/**
 * An `onEvent` for applications without one. It says on the console what would otherwise go unnoticed: a store that
 * fails in the background, tools that are missing, a person's answer with an unknown outcome. What a connection is
 * about is said once for each reason, however many steps meet it.
 */
export function warnOnConsole(): (event: ConnectionEvent) => void {
  const said = new Set<string>();
  return (event) => {
    const warning = warningOf(event);
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
function warningOf(
  event: ConnectionEvent,
): { readonly text: string; readonly about?: readonly unknown[] } | undefined {
  switch (event.type) {
    case "store-failed":
      return { text: event.error.message };
    case "waiting-call":
      return event.state === "outcome-unknown" ? { text: unknownOutcome(event) } : undefined;
    case "unavailable":
      return {
        text: event.error.message,
        about: [event.error.code, event.reason, event.error.data.status, event.error.data.field],
      };
    case "authorization-required":
      return { text: event.error.message, about: [event.scopes] };
    case "ids-vary":
      return {
        text: "the server names another session with each answer, so a lost session would not be noticed. If it runs in replicas that do not share sessions, send all requests of a session to one replica.",
        about: [],
      };
    case "cannot-wait": {
      const text = `input "pause" has no effect: the server only speaks revision ${event.protocolVersion}, in which it asks on an open stream. Answer within the step with onElicitation and session: "stateful".`;
      return { text, about: [event.protocolVersion] };
    }
    case "cannot-ask":
      return { text: cannotAsk, about: [] };
    case "session-unused":
      // The event comes once.
      return {
        text: 'the server gives session ids, and this connection keeps none: add session: "stateful", or "stateless" if each step may begin anew.',
      };
    case "used-after-run":
      return {
        text: "a tool was called after its run was over, and failed. In a run, wait for all that it starts, or return a stream: the run lasts as long as the stream.",
        about: [],
      };
    case "capabilities-missing": {
      const names = event.capabilities.join(", ");
      const text = `the kept session was made without ${names}, and goes on without. Restart it, or set session.restartOnNewCapabilities.`;
      return event.isRestarted ? undefined : { text, about: [names] };
    }
    case "tools-collide": {
      const text = `${collisionInWords(event.toolName, event.tools)} None of them is offered.`;
      return { text, about: [event.toolName, event.tools] };
    }
    case "tools-need-tasks": {
      const text = `tools that the server only runs as tasks, which this version cannot follow, are not offered: ${event.tools.join(", ")}.`;
      return { text, about: event.tools };
    }
    case "tools-unmatched": {
      const names = event.tools.join(", ");
      const text = `${event.option} names tools that there are none of: ${names}. Compare it with the server's own names of its tools.`;
      return { text, about: [event.option, names] };
    }
  }
  return undefined;
}

function unknownOutcome({
  tool,
  round,
}: {
  readonly tool: string;
  readonly round: number;
}): string {
  // Before the first question a call waits for a sign-in.
  const what = round === 0 ? `a call of ${tool}` : `a person's answer to the question of ${tool}`;
  return `${what} was perhaps sent, and nobody knows whether the call was carried out. It is not sent again; look at the server. Tools that may run twice can be named in input.safeTools.`;
}

/** Says which tools of connections have one name for the model, and what to do about it. */
export function collisionInWords(
  name: string,
  tools: readonly { readonly connection: string; readonly tool: string }[],
): string {
  const own = tools.map(({ connection, tool }) => `${tool} of connection ${connection}`);
  return `Tools of several connections have the same name ${JSON.stringify(name)}: ${own.join(", ")}. Give one of the connections another toolNames.prefix, or leave the tool out with tools.block.`;
}
