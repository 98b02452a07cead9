import type { JsonRpcRequest } from "@durable-mcp/core";
import {
  createEventSplitter,
  eventText,
  isEventStream,
  type JsonRpcMessage,
  parseMessages,
} from "@durable-mcp/core/internal";
import { failureText, isPlainCall, messageAnswer, noAnswer } from "../base/answers.ts";
import { type Centre, openFetch, type SessionName, untilSent } from "../session/upstreams.ts";
import { eventAnswer, messageEvent, partsOf, streamOf } from "../base/events.ts";

/** The headers of a message that revisions without sessions have. No token of the client goes up. */
const passed = /^(?:accept|content-type|mcp-protocol-version|mcp-method|mcp-name|mcp-param-.*)$/;

/**
 * Passes on a request without a session, as of revision 2026-07-28, whose servers keep nothing between requests. A lost
 * answer to a call is told as one.
 */
export async function passThrough(
  centre: Centre,
  { request, connection, principal }: { readonly request: Request } & Omit<SessionName, "session">,
  message: JsonRpcMessage | undefined,
  body: string,
): Promise<Response> {
  const headers = new Headers([...request.headers].filter(([name]) => passed.test(name)));
  const call = message && "method" in message && isPlainCall(message) && "id" in message;
  const send = openFetch(centre, connection, principal);
  const { url } = centre.connections[connection]!.options;
  try {
    const { signal } = request;
    const sent = async () => await send(url, { method: "POST", headers, body, signal });
    const response = await (call ? untilSent(sent) : sent());
    const type = response.headers.get("content-type") ?? "application/json";
    if (call && isEventStream(response)) {
      const reader = response.body.getReader();
      const left = () => reader.cancel().catch(() => undefined);
      return eventAnswer(streamOf(withFailure(partsOf(reader), message), left));
    }
    // Its client has to sign in at the gateway, and not where the server says.
    const status = response.status === 401 || response.status === 403 ? 502 : response.status;
    return new Response(response.body, { status, headers: { "content-type": type } });
  } catch (error) {
    const { id = 0 } = (message ?? {}) as Partial<JsonRpcRequest>;
    return messageAnswer(noAnswer(id, call === true, failureText(error)));
  }
}

/** The stream of a call. If it ends without an answer, the last event says so. */
async function* withFailure(parts: AsyncGenerator<Uint8Array>, { id }: JsonRpcRequest) {
  const splitter = createEventSplitter();
  const answers = (text: string) =>
    parseMessages(text)?.messages.some((message) => !("method" in message) && message.id === id);
  let isAnswered = false;
  for await (const part of parts) {
    for (const event of splitter.push(part)) isAnswered ||= answers(eventText(event)) === true;
    yield part;
  }
  if (!isAnswered) yield messageEvent(noAnswer(id, true, failureText(undefined)));
}
