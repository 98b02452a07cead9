import { McpSessionError } from "../base/mcp-session-error.ts";
import { type EventBytes, createEventSplitter, eventText } from "../wire/event-splitter.ts";
import { type JsonRpcId, parseMessage } from "../wire/json-rpc.ts";
import { isEventStream, MAX_MESSAGE_BYTES, readText } from "../wire/read-answer.ts";
import { completeResult } from "./complete-result.ts";
import { questionOf } from "./question.ts";
import { withoutMarks } from "./waiting-call.ts";
import type { Question } from "./waiting-life.ts";
import type { WaitingAnswer } from "./waiting-record.ts";

/** Keeps a question. Gives what the client is to get instead. */
type TakeQuestion = (question: Question) => Promise<WaitingAnswer>;

/**
 * The server's answer to one request, with what `take` gives in the place of questions. A result that does not
 * say that it is complete says so then. Without `take` questions are the client's. No result of a server says that a
 * call waits; all else passes as it comes.
 */
export async function answerWithPlaceholder(
  response: Response,
  id: JsonRpcId,
  take?: TakeQuestion,
): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  // The body may become another one.
  for (const name of ["content-length", "content-encoding"]) headers.delete(name);
  if (!isEventStream(response)) {
    const text = await readText(response, MAX_MESSAGE_BYTES);
    return new Response(await replaced(text, id, take), { status, statusText, headers });
  }
  const splitter = createEventSplitter();
  const encoder = new TextEncoder();
  const pass = async (
    event: EventBytes,
    controller: TransformStreamDefaultController<Uint8Array>,
  ) => {
    const text = eventText(event);
    const own = await replaced(text, id, take);
    if (own === text) for (const part of event.parts) controller.enqueue(part);
    else controller.enqueue(encoder.encode(`data: ${own}\n\n`));
  };
  const events = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      for (const event of splitter.push(chunk)) await pass(event, controller);
      if (splitter.pendingBytes > MAX_MESSAGE_BYTES) throw tooLarge();
    },
    async flush(controller) {
      const last = splitter.finish();
      if (last !== undefined) await pass(last, controller);
    },
  });
  return new Response(response.body.pipeThrough(events), { status, statusText, headers });
}

async function replaced(
  text: string,
  id: JsonRpcId,
  take: TakeQuestion | undefined,
): Promise<string> {
  const message = parseMessage(text);
  if (message === undefined || "method" in message || message.id !== id) return text;
  const { result } = message;
  const print = (answer: object) => JSON.stringify({ jsonrpc: "2.0", id, ...answer });
  try {
    const question = take && questionOf(result);
    if (question !== undefined) return print(await take!(question));
    const own = withoutMarks(result);
    const isUntyped = take !== undefined && own?.["resultType"] === undefined;
    const whole = (isUntyped && completeResult(own)) || own;
    return whole === result ? text : print({ result: whole });
  } catch (error) {
    return print({ error: asRpcError(error) });
  }
}

/** After response headers a failure is an answer, with our code in its data. */
function asRpcError(error: unknown) {
  const isOurs = McpSessionError.isInstance(error);
  const { message } = isOurs ? error : { message: "The server's question could not be kept." };
  return { code: -32_603, message, data: isOurs ? { code: error.code } : {} };
}

function tooLarge(): McpSessionError {
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    `The answer has a message of more than ${MAX_MESSAGE_BYTES} bytes, and was not read to its end. Whether the request was carried out is unknown; check before you send it again.`,
    { data: { reason: "not-mcp" } },
  );
}
