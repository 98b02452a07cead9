import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import { type Failure, failureOf, RefusedError } from "./retry.ts";

/** Sends what is new, a message of the user's or nothing: all else of the chat is the server's. */
export function createTransport<MESSAGE extends UIMessage>(
  api: string,
  newMessage: () => MESSAGE | undefined,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): ChatTransport<MESSAGE> {
  return new DefaultChatTransport<MESSAGE>({
    api,
    async fetch(...request) {
      const response = await fetch(...request);
      if (response.ok) return response;
      throw new RefusedError(response.status, (await readProblem(response)).message);
    },
    prepareSendMessagesRequest: ({ body }) => ({ body: { ...body, message: newMessage() } }),
  });
}

/** What a route says of its failure: `message` of its JSON, or its text. */
export async function readProblem(
  response: Response,
): Promise<{ message: string; field?: string }> {
  const text = await response.text();
  try {
    const { message, field } = JSON.parse(text) as { message?: unknown; field?: unknown };
    if (typeof message === "string")
      return { message, ...(typeof field === "string" && { field }) };
  } catch {
    // It is no JSON.
  }
  return { message: text || `A POST was answered with ${response.status}.` };
}

/** A POST on its way. */
export interface Post<MESSAGE extends UIMessage> {
  /** All that the page shows. */
  readonly messages: MESSAGE[];
  /** How many parts of its answer have come. */
  chunks: number;
  /** Why it came to nothing, if it ends now. */
  failure: Failure | undefined;
}

/** Tells how each POST of a transport goes. */
export function watchTransport<MESSAGE extends UIMessage>(
  transport: ChatTransport<MESSAGE>,
  onPost: (post: Post<MESSAGE>) => void,
): ChatTransport<MESSAGE> {
  return {
    reconnectToStream: (options) => transport.reconnectToStream(options),
    async sendMessages(options) {
      const failure = failureOf(new Error("the answer broke off."));
      const post: Post<MESSAGE> = { messages: options.messages, chunks: 0, failure };
      onPost(post);
      const stream = await transport.sendMessages(options).catch((error: unknown) => {
        post.failure = failureOf(error);
        throw error;
      });
      return stream.pipeThrough(
        new TransformStream({
          transform(chunk, controller) {
            post.chunks += 1;
            if (chunk.type === "error") {
              post.failure = { error: new Error(chunk.errorText), isPassing: false };
            }
            controller.enqueue(chunk);
          },
          flush() {
            // The end of nothing is no answer.
            if (post.chunks > 0 && post.failure === failure) post.failure = undefined;
          },
        }),
      );
    },
  };
}
