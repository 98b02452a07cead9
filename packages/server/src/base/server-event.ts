import type { McpSessionError } from "@durable-mcp/core";

/**
 * What happened to the sessions of a handler. No event holds an id, a token or a principal;
 * `session` is a fingerprint: the beginning of the hash that the store has in the session's key.
 *
 * - `started`: a client initialized; the session is stored.
 * - `restored`: a stored session was rebuilt in this process, under its own id.
 * - `restore-failed`: it could not be rebuilt; the client got 404 and starts anew.
 * - `ended`: a client ended the session with DELETE.
 * - `evicted`: the session left this process's memory to make room; it is still stored.
 * - `unknown`: a request carried an id that no stored session of its principal has.
 * - `adopted`: such a request got a session of its own. `again` says that the same unknown id was
 *   adopted before, so the client does not take the new id from the answer: use `reject` for it.
 * - `outcome-unknown`: a request was in flight in a process that died, and its client was told so.
 * - `state-conflict`: two calls changed the state at once; `resolved` says whether your
 *   `onStateConflict` merged them.
 * - `store-failed`: the store could not be reached or did not do what it was asked.
 * - `refused`: a request was refused before it reached a session, and why.
 * - `sdk-version`: the installed `@modelcontextprotocol/sdk` is outside the tested range.
 * - `failed`: something threw that no request could be told about.
 */
export type ServerSessionEvent =
  | { readonly type: "started"; readonly session: string; readonly protocolVersion: string }
  | { readonly type: "restored"; readonly session: string; readonly protocolVersion: string }
  | { readonly type: "restore-failed"; readonly session: string; readonly error: unknown }
  | { readonly type: "ended"; readonly session: string }
  | { readonly type: "evicted"; readonly session: string }
  | { readonly type: "unknown"; readonly session: string }
  | {
      readonly type: "adopted";
      /** Of the unknown id. */
      readonly unknown: string;
      readonly session: string;
      readonly again: boolean;
    }
  | { readonly type: "outcome-unknown"; readonly session: string }
  | { readonly type: "state-conflict"; readonly session: string; readonly resolved: boolean }
  | { readonly type: "store-failed"; readonly error: McpSessionError }
  | {
      readonly type: "refused";
      readonly reason:
        | "host"
        | "origin"
        | "principal"
        | "too-large"
        | "too-many-requests"
        | "too-many-streams"
        | "too-many-sessions"
        | "too-many-messages"
        | "duplicate-request"
        | "event-id"
        | "draining";
    }
  | { readonly type: "sdk-version"; readonly version: string; readonly tested: string }
  | { readonly type: "failed"; readonly error: unknown };

export type EmitServerEvent = (event: ServerSessionEvent) => void;

/** An observer that throws must not change what happens to the session. */
export function createEmit(
  onEvent: ((event: ServerSessionEvent) => void) | undefined,
): EmitServerEvent {
  return (event) => {
    try {
      onEvent?.(event);
    } catch {
      // The observer's own affair.
    }
  };
}
