import type { AnswerContext } from "../answer/message-for-client.ts";
import type { Handshake } from "../handshake/handshake.ts";
import type { RefusedAnswer, SessionLoss } from "../session/lost-session.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { ResendPolicy } from "./resend-policy.ts";

/** The context for sending a client's messages on the session, with the application's rules. */
export interface ExchangeContext extends AnswerContext {
  readonly handshake: Handshake;
  readonly cancelOnAbort: boolean | (() => boolean);
  readonly resend: ResendPolicy;
  readonly isSafeToResend: ((request: JsonRpcRequest) => boolean) | undefined;
  readonly classifyLoss: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  readonly retrySameId: boolean;
  /** Whether a lost session may be replaced. */
  readonly recover: boolean;
}
