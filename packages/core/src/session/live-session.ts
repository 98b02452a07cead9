import type { InitializeResult, ActiveSessionSnapshot } from "./session-snapshot.ts";

/** A session that requests of this process go out on. */
export type LiveSession =
  | Pick<ActiveSessionSnapshot, "kind" | "sessionId" | "initializeResult" | "clientCapabilities">
  | { readonly kind: "sessionless"; readonly initializeResult: InitializeResult };

export function sameSession(a: LiveSession, b: LiveSession): boolean {
  return a === b || (a.kind === "session" && b.kind === "session" && a.sessionId === b.sessionId);
}
