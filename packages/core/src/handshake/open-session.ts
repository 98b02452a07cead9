import { bufferAnswer, type BufferedAnswer } from "../session/buffered-answer.ts";
import { type RequestTemplate, sendOwn } from "../session/session-context.ts";
import { sessionLost } from "../session/session-errors.ts";
import { enterOpened, enterStateless, lostSession, type Opening } from "../session/session-life.ts";
import { asInitializeResult } from "../session/session-snapshot.ts";
import { type JsonRpcResponse, parseMessage } from "../wire/json-rpc.ts";
import { readAnswer } from "../wire/read-answer.ts";
import { paramsOfLost } from "./initialize-answer.ts";
import { type HandshakeContext, inTime } from "./handshake-context.ts";
import { speaksOnlyStatelessVersions, toLiveSession } from "./initialize-answer.ts";

/**
 * Sends `initialize`, without an id, with the client's own description.
 *
 * @throws {McpSessionError} `SESSION_LOST` if a lost session must not be replaced,
 *   `CONNECTION_UNAVAILABLE` without an answer in time, and for a session that cannot be kept
 */
export async function openSession(
  context: HandshakeContext,
  template: RequestTemplate,
  signal: AbortSignal,
): Promise<Opening> {
  const { state, url, ids } = context;
  const lost = lostSession(state);
  if (!context.recover && lost !== undefined) throw sessionLost("initialize", url);
  const id = ids.next();
  const params = state.clientParams ?? paramsOfLost(lost);
  const message = { id, method: "initialize", params };
  const { response, refused, answer } = await inTime(
    context,
    message.method,
    signal,
    async (bounded) => {
      const sent = await sendOwn(context, message, undefined, template, bounded);
      return sent.ok
        ? { response: sent, answer: await readAnswer(sent, id) }
        : { response: sent, refused: await bufferAnswer(sent) };
    },
  );
  if (refused !== undefined) {
    return { refused, stateless: recordVerdict(context, parseMessage(refused.body)) };
  }
  const initializeResult = asInitializeResult(answer?.result);
  if (initializeResult === undefined) {
    return { refused: unusable(answer, id), stateless: recordVerdict(context, answer) };
  }
  // Some fetches ignore the signal, and a late answer must not replace a newer session.
  signal.throwIfAborted();
  const session = toLiveSession(url, response, initializeResult, params);
  enterOpened(state, session);
  return { opened: session };
}

/** Remembers a server that only speaks revisions without sessions. */
function recordVerdict(
  { state, url, emit, now }: HandshakeContext,
  message: object | undefined,
): boolean {
  if (!speaksOnlyStatelessVersions(message)) return false;
  enterStateless(state, url, now());
  emit({ type: "stateless" });
  return true;
}

/** The client's answer if the server sent none, or one that is not a result of `initialize`. */
function unusable(answer: JsonRpcResponse | undefined, id: string): BufferedAnswer {
  const headers = new Headers({ "content-type": "application/json" });
  const error = { code: -32000, message: "The server sent no usable answer to initialize." };
  const body = JSON.stringify(answer ?? { jsonrpc: "2.0", id, error });
  return { status: 200, headers, body, loss: "none" };
}
