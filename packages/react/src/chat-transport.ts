import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import type { AnswerProblem } from "./question.tsx";
import { type Failure, failureOf } from "./retry.ts";

/** A `fetch` that throws what a route says of its failure: `message` and `field` of its JSON, or its text. */
export const refusing =
  (fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch =>
  async (...request) => {
    const response = await fetch(...request);
    if (response.ok) return response;
    const text = await response.text();
    const { message, field } = readProblem(text);
    // A gateway's page is for nobody.
    const isPage = text.trimStart().startsWith("<");
    const said = typeof message === "string" ? message : !isPage && text;
    const error = new Error(said || `A POST was answered with ${response.status}.`);
    throw Object.assign(error, { status: response.status, field });
  };

function readProblem(text: string): { message?: unknown; field?: unknown } {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    return {};
  }
}

/** Why an answer did not reach its server. */
export function problemOf(thrown: Error & { field?: unknown }): AnswerProblem {
  const { message, field } = thrown;
  return { message, field: typeof field === "string" ? field : undefined };
}

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
