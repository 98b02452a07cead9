import {
  idMarker,
  type Invariant,
  type IssuedSession,
  type WireRequest,
} from "./invariant-model.ts";

/** Checks where a request carries a session id, and whose session it is. */
export function checkSessionId(
  request: WireRequest,
  issued: ReadonlyMap<string, IssuedSession>,
  violate: (invariant: Invariant, message: string) => void,
): void {
  const { url, method, body, sessionId } = request;
  if (url.includes(idMarker) || body.includes(idMarker)) {
    violate("own-session", `${method} ${url} carried a session id outside its header`);
  }
  if (sessionId === undefined) return;
  const session = issued.get(sessionId);
  if (session?.url !== url) {
    violate(
      "own-session",
      `${request.slot} sent the id of ${session?.url ?? "no server"} to ${url}`,
    );
  } else if (session.owner !== request.owner) {
    violate("own-session", `${request.slot} sent the id of ${session.owner} for ${request.owner}`);
  } else if (request.message?.method === "initialize") {
    violate("own-session", `${request.slot} sent initialize with an id`);
  }
  // The process may end a session without having read the answer to its `initialize`.
  const isUnread = request.method === "DELETE" && request.version === undefined;
  if (session && session.version !== request.version && !isUnread) {
    violate(
      "own-version",
      `${request.slot} sent ${request.version} on a session of ${session.version}`,
    );
  }
}
