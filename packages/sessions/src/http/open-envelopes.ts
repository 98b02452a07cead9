import type { JsonRpcRequest } from "@durable-mcp/core";
import {
  createEventSplitter,
  eventText,
  isEventStream,
  isRecord,
  revisionIn,
} from "@durable-mcp/core/internal";
import type { CallNotes, WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import {
  askForProgress,
  type CallEnvelope,
  envelopeOf,
  isSameTool,
  markedMessage,
  notesKey,
  notReplayed,
  takeOut,
  takeProgress,
} from "../connection/call-envelope.ts";
import type { JudgedTool } from "../declare/tool-options.ts";

type Fetch = typeof globalThis.fetch;

/** Sends a request, with what the caller of the client knows of its call. */
type SendCall = (
  input: Parameters<typeof globalThis.fetch>[0],
  init?: RequestInit,
  notes?: CallNotes,
) => Promise<Response>;

/**
 * Sends the calls of a client without their envelopes. It comes beneath all that may send a request again.
 *
 * @param toolNow the tool as it was listed last
 */
export function openingEnvelopes(
  send: SendCall,
  toolNow: (tool: JudgedTool) => JudgedTool = (tool) => tool,
): Fetch {
  return async (input, init) => {
    const message = markedMessage(init?.body);
    const envelope = message ? envelopeOf(message) : notesOf(init);
    if (envelope === undefined) return await send(input, init);
    const { tool, decide } = envelope.allowed ?? {};
    const now = tool && toolNow(tool);
    const isOther = now !== undefined && !isSameTool(tool!, now);
    const refusal = isOther ? await decide!(now) : undefined;
    if (refusal) {
      const { id } = message ?? (JSON.parse(init!.body as string) as JsonRpcRequest);
      return Response.json({ jsonrpc: "2.0", id, result: refusal });
    }
    const own = message ? { ...init, body: JSON.stringify(takeOut(message)) } : init;
    return await send(input, own, envelope);
  };
}

/** The notes of a call of our own client. What the session fetch sends itself for a call has them, too. */
function notesOf(init: NotedInit = {}): CallEnvelope | undefined {
  const { [notesKey]: notes, body } = init;
  return notes && typeof body === "string" && isCall.test(body) ? notes : undefined;
}

/** Begins a message of our client. */
const isCall = /^\{"jsonrpc":"2.0","id":"[^"]*","method":"tools\/call"/;

type NotedInit = RequestInit & { readonly [notesKey]?: CallEnvelope };

interface ReadingOptions {
  /** Takes secrets out of the server's texts. */
  readonly scrub: (text: string) => string;
  /** Whether an answer's stream is read for progress here; a session fetch tells of it in events. */
  readonly reads: (isFollowed: boolean) => boolean;
  /** Whether an answer comes with its request, and not on another stream. @default true */
  readonly answersInPlace?: boolean;
}

/** The calls of a client before all that may send a request again: it has to know the progress tokens. */
export function readingEnvelopes(
  fetch: Fetch,
  { scrub, reads, answersInPlace = true }: ReadingOptions,
): Fetch {
  return async (input, init) => {
    const message = markedMessage(init?.body);
    const { answer, observe, onFailure } = (message && envelopeOf(message)) ?? {};
    if (answer !== undefined) {
      if (answersInPlace) return keptResponse(message as JsonRpcRequest, answer);
      onFailure?.(notReplayed);
      throw notReplayed;
    }
    const own = observe ? { ...init, body: JSON.stringify(askForProgress(message!)) } : init;
    const response = await fetch(input, own);
    return reads(observe !== undefined) ? watchEvents(response, scrub) : response;
  };
}

function keptResponse(message: JsonRpcRequest, { error, result }: WaitingAnswer): Response {
  const answer = { jsonrpc: "2.0", id: message.id };
  if (error !== undefined) return Response.json({ ...answer, error });
  const isStateless = revisionIn(message) !== undefined;
  const complete = { ...(isStateless && { resultType: "complete" }), ...result };
  return Response.json({ ...answer, result: complete });
}

/** A notification is shorter, in bytes. */
const maxLength = 16_384;

function watchEvents(response: Response, scrub: ReadingOptions["scrub"]): Response {
  if (!isEventStream(response)) return response;
  const { status, statusText, headers, body } = response;
  const splitter = createEventSplitter();
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const event of splitter.push(chunk)) {
        const length = event.parts.reduce((sum, part) => sum + part.length, 0);
        if (length <= maxLength) receiveText(eventText(event), scrub);
      }
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(watched), { status, statusText, headers });
}

function receiveText(text: string, scrub: ReadingOptions["scrub"]): void {
  try {
    const message: unknown = JSON.parse(text);
    if (isRecord(message)) takeProgress(message, scrub);
  } catch {
    // What is no JSON is the client's to report.
  }
}
