/**
 * An event of a slot's session. No event holds an id, a token or a principal.
 *
 * - `started`: the first session of the slot is initialized, acknowledged and saved. `changed` is `true`
 *   if the saved session is another process's, and has another version or other capabilities than the
 *   clients of this process know.
 * - `resumed`: a session of an earlier step is in use again.
 * - `lost`: the server answered that it no longer knows the session.
 * - `restored`: `initialize` got a 404 as well, so the loss is taken back: the way to the server is broken.
 * - `ids-vary`: the server names another session with each answer, so a loss of the session would not be
 *   seen. Reported once for each slot.
 * - `recovered`: a new session took the place of a lost one. The lost session's contents are gone.
 *   `changed` is `true` if it negotiated another version or other capabilities.
 * - `start-failed`: `onStart` threw or took too long; the new session was ended.
 * - `stream-taken`: another step listens on the session, so this one hears nothing that the server says beside its
 *   calls' answers.
 * - `sessionless`: the server initialized without naming a session, in this step or an earlier one.
 * - `stateless`: the server only speaks revisions without sessions; traffic passes through.
 * - `discarded`: a snapshot was not used, with the reason. `refused`: the server refused a request that was
 *   made with the handshake of an earlier step, or with other kept results, so they are asked for again.
 * - `not-kept`: the result of a request is too large to be kept, so it is asked for again in the next step.
 * - `tools-changed`: the kept tool list is no longer valid, with the reason. For a list that differs from
 *   the one before: which tools.
 * - `list-cut`: a list does not end: a page names its own cursor again, or there are 100. It ends there.
 * - `notification`: the server sent a notification, which many clients drop. `params` are the server's,
 *   scrubbed of the session id.
 */
export type SessionEvent =
  | { readonly type: "started"; readonly protocolVersion: string; readonly changed: boolean }
  | { readonly type: "resumed"; readonly protocolVersion: string }
  | { readonly type: "lost"; readonly method: string; readonly status: number }
  | { readonly type: "restored" }
  | { readonly type: "ids-vary" | "stream-taken" }
  | { readonly type: "recovered"; readonly protocolVersion: string; readonly changed: boolean }
  | { readonly type: "start-failed"; readonly reason: "started" | "recovered" }
  | { readonly type: "sessionless"; readonly protocolVersion: string }
  | { readonly type: "stateless" }
  | { readonly type: "discarded"; readonly reason: "url" | "protocol-version" | "refused" }
  | { readonly type: "not-kept" | "list-cut"; readonly method: string }
  | {
      readonly type: "tools-changed";
      readonly reason: "list-changed" | "unknown-tool";
    }
  | ({
      readonly type: "tools-changed";
      readonly reason: "new-list" | "new-session";
    } & ToolChanges)
  | {
      readonly type: "notification";
      readonly method: string;
      readonly params: Readonly<Record<string, unknown>> | undefined;
    };

/** How a tool list differs from the one before it: the tools' names, at most 100 of each, and shortened. */
export interface ToolChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** The tools with another definition: another description, schema or annotation, for example. */
  readonly changed: readonly string[];
}
