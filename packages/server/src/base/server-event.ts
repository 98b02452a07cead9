import type { McpSessionError } from "@durable-mcp/core";

/**
 * An event of a handler's sessions. No event holds an id, a token, a handle or a principal; `session`
 * is a fingerprint, the beginning of the hash in the session's store key, and `undefined` for a request
 * without a session (2026-07-28).
 *
 * - `started`: a client initialized; the session is stored.
 * - `restored`: a stored session was rebuilt in this process, under its own id.
 * - `restore-failed`: a stored session could not be rebuilt.
 * - `ended`: a client ended the session with DELETE.
 * - `closed`: the session's server in this process was closed to make room; the session is stored.
 * - `unknown`: a request carried an id that no stored session of its principal has.
 * - `adopted`: such a request got a session of its own. `again` says that the same unknown id was
 *   adopted before: the client does not take the new id from the answer, so use `reject` for it.
 * - `outcome-unknown`: the answer to a request was lost or is no longer kept; its client was told. Or the
 *   process of a task has died, and the task has failed.
 * - `task-late`: a result or status of a task came after its end (cancelled, failed, its ttl over), and is
 *   not kept.
 * - `questions-not-stored`: the installed release of SDK v2 does not let its questions be stored. They wait in the
 *   process that asks, and end with it. Emitted once.
 * - `state-conflict`: two calls changed the state at once; `resolved` says whether your
 *   `onStateConflict` merged them.
 * - `state-invalid`: a call left a state that cannot be stored; its client was told, and the stored
 *   state stays.
 * - `task-lost`: the process that worked on a task died, or could not store how the work ended. `runsAgain` says
 *   whether it was begun again; otherwise the task has failed, and its work may have been done.
 * - `store-failed`: the store could not be reached or failed.
 * - `refused`: a request was refused before it reached a session, and why.
 * - `failed`: an error that no client could be told, or that was answered with 500.
 */
export type ServerSessionEvent =
  | { readonly type: "started"; readonly session: string; readonly protocolVersion: string }
  | { readonly type: "restored"; readonly session: string; readonly protocolVersion: string }
  | { readonly type: "restore-failed"; readonly session: string; readonly error: unknown }
  | { readonly type: "ended"; readonly session: string }
  | { readonly type: "closed"; readonly session: string }
  | { readonly type: "unknown"; readonly session: string }
  | {
      readonly type: "adopted";
      /** Of the unknown id. */
      readonly unknown: string;
      readonly session: string;
      readonly again: boolean;
    }
  | { readonly type: "outcome-unknown"; readonly session: string }
  | { readonly type: "questions-not-stored" }
  | {
      readonly type: "state-conflict";
      readonly session: string | undefined;
      readonly resolved: boolean;
    }
  | {
      readonly type: "state-invalid";
      readonly session: string | undefined;
      readonly error: unknown;
    }
  | { readonly type: "task-lost"; readonly runsAgain: boolean }
  | { readonly type: "task-late" }
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
        | "too-many-tasks"
        | "duplicate-request"
        | "event-id"
        | "draining";
    }
  | { readonly type: "failed"; readonly error: unknown };

export type EmitServerEvent = (event: ServerSessionEvent) => void;
