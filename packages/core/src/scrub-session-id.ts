/**
 * Takes a session id out of a server's error text, which clients put into error messages.
 * The id may stand there as it is or as it looks inside a JSON string.
 */
export function scrubSessionId(text: string, sessionId: string | undefined): string {
  if (sessionId === undefined) return text;
  return text
    .replaceAll(JSON.stringify(sessionId).slice(1, -1), "[session id]")
    .replaceAll(sessionId, "[session id]");
}
