import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import { refusing } from "./refusal.ts";
import { type Failure, failureOf } from "./retry.ts";

/** Sends what is new, a message of the user's or nothing: all else of the chat is the server's. */
export function createTransport<MESSAGE extends UIMessage>(
  api: string,
  newMessage: () => MESSAGE | undefined,
  fetch: typeof globalThis.fetch | undefined,
): ChatTransport<MESSAGE> {
  return new DefaultChatTransport<MESSAGE>({
    ...{ api, fetch: refusing(fetch) },
    prepareSendMessagesRequest: ({ body }) => ({ body: { ...body, message: newMessage() } }),
  });
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
      const failure: Failure = { error: new Error("The answer broke off."), isPassing: true };
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
            // A proxy may end half an answer as if it were whole.
            if (chunk.type === "finish" && post.failure === failure) post.failure = undefined;
            if (chunk.type === "error")
              post.failure = { error: new Error(chunk.errorText), isPassing: false };
            controller.enqueue(chunk);
          },
        }),
      );
    },
  };
}
