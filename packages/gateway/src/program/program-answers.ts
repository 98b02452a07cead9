import type { JsonRpcRequest } from "@durable-mcp/core";
import {
  isRecord,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcResponse,
} from "@durable-mcp/core/internal";
import { messageAnswer } from "../base/answers.ts";
import { isBehind, type Listener, messageEvent, openListener } from "../base/events.ts";

export type AnswerUnderWay = ReturnType<typeof createAnswer>;

/** The answer to one request to a program: of JSON, or a stream if other messages come before. */
export function createAnswer({ id, params }: JsonRpcRequest) {
  const begun = Promise.withResolvers<Response>();
  const meta = isRecord(params?.["_meta"]) ? params["_meta"] : {};
  let stream: Listener | undefined;
  const open = () => {
    if (stream) return stream;
    const { listener, answer } = openListener(() => void (stream = undefined));
    begun.resolve(answer);
    return (stream = listener);
  };
  const aborting = new AbortController();
  let isOver = false;
  return {
    id,
    response: begun.promise,
    progressToken: meta["progressToken"] as JsonRpcId | undefined,
    /** Cancels the request. */
    aborting,
    /** Another message than the answer. */
    tell(message: JsonRpcMessage): void {
      if (isOver || (stream && isBehind(stream))) return;
      open().enqueue(messageEvent(message));
    },
    /** Without an answer it breaks off, with an error that says why. */
    end(answer: JsonRpcResponse | Error | undefined): void {
      if (isOver) return;
      isOver = true;
      if (answer instanceof Error) return open().error(answer);
      if (answer && !stream) return begun.resolve(messageAnswer(answer));
      const last = open();
      if (answer) last.enqueue(messageEvent(answer));
      last.close();
    },
  };
}
