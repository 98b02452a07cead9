import type {
  Answer,
  AuthInfo,
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId,
} from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { ClaimedCall } from "../records/stored-question.ts";
import type { CallLog } from "../streams/call-log.ts";
import type { Sent } from "../session-tasks/task-record.ts";
import type { Admission } from "./admission.ts";
import type { RaisedQuestions } from "../asked/legacy-shim.ts";
import type { CallEffects } from "./settle-call.ts";

/** A POST of the client, within its session. */
export interface ClientPost {
  readonly request: ServedRequest;
  readonly messages: readonly JSONRPCMessage[];
  readonly requests: readonly JSONRPCRequest[];
  readonly isBatch: boolean;
  /** The body. */
  readonly text: string;
  readonly authInfo: AuthInfo | undefined;
  readonly admission: Admission;
}

/** The requests of one POST, from when they reach the server until all are answered or cancelled. */
export interface PostCall {
  /** The session's `changes` when the call began: cancellations before it are for others. */
  readonly change: number;
  readonly reply: Promise<Reply> | Reply;
  /** Says that it is in flight, until it is over, and where the next message goes. */
  hold(): Promise<Sent>;
  /** Sends a message that precedes an answer. */
  related(message: JSONRPCMessage): void;
  /** Stores the effects of a request, and its answer, then sends the answer. Never rejects. */
  answer(request: JSONRPCRequest, message: Answer, effects: () => CallEffects): Promise<void>;
  /**
   * How often the request has asked its client before; `undefined` when its questions cannot be stored:
   * with JSON answers, in a batch, and on a stream without event ids.
   */
  rounds(): Promise<number | undefined>;
  /** Stores the effects of a request, and its questions, then sends them. Never rejects. */
  ask(request: JSONRPCRequest, raised: RaisedQuestions, effects: () => CallEffects): Promise<void>;
  /** The answer to the same POST once more. @param onEnd called when it is over */
  repeat(onEnd: () => void): Promise<Reply>;
  /** A request gets no answer: its client does not want it any more. */
  cancel(requestId: RequestId): void;
  /** Ends the answer stream; the call goes on, and its client comes back for the answer. */
  readonly hangUp: () => void;
}

export interface PostCallOptions {
  readonly requests: readonly JSONRPCRequest[];
  readonly isBatch: boolean;
  /** The request was made before, and its questions are answered: its messages go to the stored stream. */
  readonly claimed?: ClaimedCall | undefined;
  /** Its number among the session's calls here. */
  readonly number: number;
  /** @returns the calls whose answers are kept no longer */
  readonly keep: (log: CallLog) => readonly CallLog[];
  /** There is no room to keep the call. @returns the oldest kept one, which is kept in its place no longer */
  readonly spare: (log: CallLog) => CallLog | undefined;
}
