/**
 * Why a call waits.
 *
 * - `input`: the server has answered it with questions.
 * - `authorization`: the user has to sign in first. It was not carried out.
 */
export type WaitingKind = "input" | "authorization";

/** What is particular to the calls of a kind. */
interface KindOfWaiting {
  /** Whether the call itself takes answers: then they are sent to its server. */
  readonly takesAnswers: boolean;
  /** What has to happen before the call goes on, for the model. */
  readonly waitsFor: (connection: string) => string;
  /** Who may have left a leg without an end. */
  readonly leg: string;
  /** Why the call has expired. */
  readonly expired: string;
}

/** All kinds. A further one is an entry here, and a file that keeps its calls, such as `park-call.ts`. */
export const waitingKinds: Readonly<Record<WaitingKind, KindOfWaiting>> = {
  input: {
    takesAnswers: true,
    waitsFor: (connection) =>
      `connection ${connection} asks a person something, and waits for the answer. It has not failed.`,
    leg: "the step that sent a person's answer",
    expired: "nobody answered the server's question",
  },
  authorization: {
    takesAnswers: false,
    waitsFor: (connection) =>
      `the user has to sign in to connection ${connection} first. It was not carried out, and it has not failed. Ask the user to sign in.`,
    leg: "the step that made the call after the sign-in",
    expired: "the user did not sign in",
  },
};
