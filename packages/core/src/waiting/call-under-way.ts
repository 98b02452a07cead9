import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import type { CallInStep } from "./call-in-step.ts";

/** A call under way, whose answer may come on a stream. */
export interface CallUnderWay {
  readonly call: CallInStep;
  readonly message: JsonRpcRequest;
  readonly request: OutgoingRequest;
  readonly fail: ((error: unknown) => void) | undefined;
  /** Has its task be left. */
  readonly leave: () => void;
  /** The last event of the stream; "" before the first with an id. */
  eventId: string;
  /** Whether its answer has come, or nobody waits for it here any more. */
  isOver: boolean;
  /** Whether its time in the step is up. */
  isLate: boolean;
  /** What takes the place of its answer. What else comes on its stream is for whoever looks next. */
  taking?: Promise<string> | undefined;
  /** Ends the stream of its client with an answer; not there between two streams. */
  end?: ((text: string) => void) | undefined;
  stop: () => void;
}

/** Names a session, or a request on it. */
export const nameOf = ({ headers }: Pick<OutgoingRequest, "headers">, id: unknown = null) =>
  JSON.stringify([headers.get("mcp-session-id"), id]);
