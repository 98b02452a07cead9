import type { Principal } from "@durable-mcp/core";
import type { InputResponses, WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import type { AnswerOptions } from "../waiting/run-waiting.ts";

/** The uses of waiting calls outside of a step. */
export interface WaitingSessions {
  /**
   * What waits for a person. First the connections whose user has to sign in (`auth.authorizationFor`): they have no
   * `id`. Then the agent session's calls that wait, for an answer (`input: "pause"`) or for a sign-in, or are being
   * answered, in the order in which they began to wait. Sends nothing.
   *
   * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor`
   */
  waiting(sessionId: string, use: { readonly principal: Principal }): Promise<WaitingEntry[]>;
  /**
   * Answers the questions of a waiting call, in any process: one request, sent at most once. It opens no session.
   *
   * @param responses an answer for each question, under the server's keys
   * @param use.round the round that the answers are for. @default any
   * @returns the call: `waiting` if the server asks more, `settled`, `expired` or `outcome-unknown`
   * @throws {McpSessionError} as `answer` of `RunWaiting`
   */
  answer(
    sessionId: string,
    id: string,
    responses: InputResponses,
    use: AnswerOptions & { readonly principal: Principal },
  ): Promise<WaitingCall>;
  /** Takes a waiting call back. @throws {McpSessionError} `NOT_WAITING`, `STORE_FAILED` */
  withdraw(
    sessionId: string,
    id: string,
    use: { readonly principal: Principal },
  ): Promise<WaitingCall>;
}
