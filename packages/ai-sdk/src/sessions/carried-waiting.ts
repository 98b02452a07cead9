import type { Principal } from "@durable-mcp/core";
import type { InputResponses, WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import type { AnswerOptions } from "../waiting/run-waiting.ts";

/** The waiting calls in an agent session's state, outside of a step. */
export interface CarriedWaiting {
  /**
   * What waits for a person, as `waiting` of durable sessions: the principal's connections whose user has to sign in,
   * and then the calls. Sends nothing.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; the error of `auth.authorizationFor`
   */
  waiting(
    session: { readonly state?: unknown },
    use: { readonly principal: Principal },
  ): Promise<WaitingEntry[]>;
  /**
   * Answers the questions of a waiting call: one request, after `claim` of the provider has allowed it. It mutates
   * nothing.
   *
   * @param use.onSession saves the agent session, after success, and after a failure that has changed its state
   * @returns the call as it is then, and the agent session to save
   * @throws {McpSessionError} as `answer` of `RunWaiting`. `NOT_WAITING` also where another process has
   *   claimed the answer: if that process died, only `withdraw` ends the call
   */
  answer<SESSION extends { state?: unknown }>(
    session: SESSION,
    id: string,
    responses: InputResponses,
    use: AnswerOptions & {
      readonly principal: Principal;
      readonly onSession?: ((session: SESSION) => void | Promise<void>) | undefined;
    },
  ): Promise<{ session: SESSION; call: WaitingCall }>;
  /** Takes a waiting call back. @throws {McpSessionError} `NOT_WAITING` */
  withdraw<SESSION extends { state?: unknown }>(
    session: SESSION,
    id: string,
    use: { readonly principal: Principal },
  ): Promise<{ session: SESSION; call: WaitingCall }>;
}
