import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { JsonRpcRequest } from "@durable-mcp/core";
import { isRecord, revisionIn } from "@durable-mcp/core/internal";
import { createCallNotes } from "./call-notes.ts";

type Fetch = typeof globalThis.fetch;

/** Lets a connection's clients read answers that are kept, instead of the server's. */
export interface KeptAnswers {
  /** Makes a call of a client of the connection, which gets this answer. Sends nothing. */
  readonly giving: <T>(
    answer: WaitingAnswer,
    input: unknown,
    call: (input: unknown) => PromiseLike<T>,
  ) => Promise<T>;
}

/** The answers, and `wrap` for the fetch of each client. Other requests pass as they come. */
export function createKeptAnswers() {
  const notes = createCallNotes();
  let pending = 0;

  const answerTo = (body: unknown): Response | undefined => {
    if (pending === 0 || typeof body !== "string") return undefined;
    const message: unknown = JSON.parse(body);
    if (!isRecord(message)) return undefined;
    const { id, params } = message as { id?: unknown; params?: Record<string, unknown> };
    const { answer } = notes.take({ params: params ?? {} }).notes;
    if (answer === undefined) return undefined;
    const { error, result } = answer;
    if (error !== undefined) return Response.json({ jsonrpc: "2.0", id, error });
    const isStateless = revisionIn(message as unknown as JsonRpcRequest) !== undefined;
    const complete = { ...(isStateless && { resultType: "complete" }), ...result };
    return Response.json({ jsonrpc: "2.0", id, result: complete });
  };

  return {
    async giving<T>(
      answer: WaitingAnswer,
      input: unknown,
      call: (input: unknown) => PromiseLike<T>,
    ) {
      pending += 1;
      try {
        return await notes.noting({ answer }, input, call);
      } finally {
        pending -= 1;
      }
    },
    wrap:
      (fetch: Fetch): Fetch =>
      async (input, init) =>
        answerTo(init?.body) ?? (await fetch(input, init)),
  };
}
