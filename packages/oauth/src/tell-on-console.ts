import type { OAuthEvent } from "./base/oauth-event.ts";

/**
 * Says on the console what would go unnoticed where nobody listens to events: why a sign-in failed, for its user reads
 * no words of a server, and that a stored value cannot be opened. Once for each connection and reason.
 */
export function createConsoleTeller(): (event: OAuthEvent) => void {
  const said = new Set<string>();
  return (event) => {
    const text = wordsFor(event);
    if (text === undefined || said.has(text.about)) return;
    said.add(text.about);
    console.warn(`${text.words} (This is said once. Give onEvent to hear of each.)`);
  };
}

function wordsFor(event: OAuthEvent) {
  if (event.type === "unreadable") {
    return {
      about: event.type,
      words: `A stored sign-in could not be opened (${event.reason}). It counts as none, so its user has to sign in again.`,
    };
  }
  if (event.type === "unknown-path") {
    return {
      about: event.type,
      words: `oauth.handler was asked for another path than ${event.paths.join(" and ")}, and answered with 404. Serve it at these two, or change startUrl and redirectUrl.`,
    };
  }
  if (event.type !== "sign-in-refused" || event.error === undefined) return undefined;
  const { reason, connection, error } = event;
  return {
    about: JSON.stringify([reason, connection]),
    words: `A sign-in did not come to its end (${reason}). ${error.message}`,
  };
}
