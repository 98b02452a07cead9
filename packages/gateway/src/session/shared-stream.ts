import {
  createEventSplitter,
  eventText,
  isEventStream,
  type JsonRpcMessage,
  letGo,
  parseMessages,
} from "@durable-mcp/core/internal";
import { declined, isRequest } from "../base/answers.ts";
import { isBehind, type Listener, messageEvent, openListener, partsOf } from "../base/events.ts";
import type { OpenUpstream } from "./upstreams.ts";

/**
 * The stream of a server's own messages, for all clients of a named session. Each hears what the server tells. What the
 * server asks goes to a client that is alone; of several none is asked, because nobody knows whom the server means.
 */
export function createSharedStream(upstream: () => Promise<OpenUpstream>) {
  const listeners = new Set<Listener>();
  let opening: Promise<Response> | undefined;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  const drop = (listener: Listener) => {
    listeners.delete(listener);
    if (listeners.size === 0) void reader?.cancel().catch(() => undefined);
  };
  const close = (listener: Listener) => {
    listener.close();
    drop(listener);
  };
  const tell = (message: JsonRpcMessage) => {
    const event = messageEvent(message);
    for (const listener of listeners) {
      // It has left, or does not read.
      if (isBehind(listener)) close(listener);
      else listener.enqueue(event);
    }
  };
  const receive = async (message: JsonRpcMessage) => {
    const [alone, other] = listeners;
    const isHeard = alone !== undefined && other === undefined && !isBehind(alone);
    if (!isRequest(message) || isHeard) return tell(message);
    letGo(await (await upstream()).postInsistently(JSON.stringify(declined(message))));
  };
  const readOn = async (stream: ReadableStream<Uint8Array>) => {
    const splitter = createEventSplitter();
    reader = stream.getReader();
    for await (const part of partsOf(reader))
      for (const event of splitter.push(part))
        for (const message of parseMessages(eventText(event))?.messages ?? [])
          void receive(message).catch(() => undefined);
    opening = reader = undefined;
    for (const listener of listeners) close(listener);
  };
  const open = async () => {
    const response = await (await upstream()).listen();
    if (isEventStream(response)) void readOn(response.body);
    else opening = undefined;
    return response;
  };

  return {
    /** A client's stream, or the server's refusal of it. */
    async listen(): Promise<Response> {
      const response = await (opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      }));
      if (!isEventStream(response)) return new Response(null, response);
      const { listener, answer } = openListener(() => drop(listener));
      // It may have ended since.
      if (reader) listeners.add(listener);
      else listener.close();
      return answer;
    },
  };
}
