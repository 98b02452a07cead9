import { plainText } from "@durable-mcp/core/internal";
import type { ApplicationEvent } from "./application-event.ts";

/**
 * An `onEvent` for applications without one. It says on the console what would otherwise go unnoticed: a store that
 * fails in the background, tools that are missing, a person's answer with an unknown outcome. What a connection is
 * about is said once for each reason, however many steps meet it.
 */
export function warnOnConsole(): (event: ApplicationEvent) => void {
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
  event: ApplicationEvent,
): { readonly text: string; readonly about?: readonly unknown[] } | undefined {
  switch (event.type) {
    case "warning":
      return { text: event.message, about: [event.reason, event.message] };
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
