import type { WireRequest } from "./invariant-model.ts";
import type { InvariantChecks } from "./invariants.ts";
import type { FaultRates } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { AnswerStream, ServerSession, SimulatedServer } from "./simulated-server.ts";

const encoder = new TextEncoder();

/** Answers that arrive bit by bit: events with all that may come along, and JSON in pieces. */
export function createAnswerStreams({
  random,
  scheduler,
  checks,
  faults,
  heedsSignals,
}: {
  random: Random;
  scheduler: Scheduler;
  checks: InvariantChecks;
  faults: FaultRates;
  heedsSignals: boolean;
}) {
  const { chance, below, pick } = random;
  const { turn } = scheduler;

  const strikes = (fault: keyof FaultRates) => {
    if (!chance(faults[fault])) return false;
    checks.count(`fault: ${fault}`);
    return true;
  };

  /** A body that the server writes to from outside, until the reader goes away. */
  const openBody = (stream: AnswerStream, signal: AbortSignal | undefined) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        stream.out = controller;
        if (!heedsSignals) return;
        const onAbort = () => {
          if (stream.out !== controller) return;
          stream.out = undefined;
          controller.error(signal?.reason);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
      },
      cancel() {
        stream.out = undefined;
      },
    });

  const write = async (stream: AnswerStream, text: string) => {
    if (chance(0.6)) return stream.out?.enqueue(encoder.encode(text));
    const { out } = stream;
    for (const piece of pieces(text)) {
      // The rest of an event never continues on another connection.
      if (stream.out === out) out?.enqueue(piece);
      await turn(`stream ${stream.name} goes on`);
    }
  };

  const pieces = (text: string): Uint8Array[] => {
    const bytes = encoder.encode(text);
    const cuts = [0, below(bytes.length), below(bytes.length), bytes.length].toSorted(
      (a, b) => a - b,
    );
    return cuts.slice(1).map((cut, index) => bytes.subarray(cuts[index], cut));
  };

  const breakOff = (stream: AnswerStream) => {
    const { out } = stream;
    stream.out = undefined;
    if (chance(0.5)) out?.close();
    else out?.error(new TypeError("terminated"));
  };

  const emit = (stream: AnswerStream, message: object | undefined): Promise<void> => {
    stream.writing = stream.writing.then(() => emitNow(stream, message));
    return stream.writing;
  };

  const emitNow = async (stream: AnswerStream, message: object | undefined) => {
    await turn(`stream ${stream.name} event ${stream.events.length}`);
    const id = stream.isKept ? `id: ${stream.name}_${stream.events.length}\n` : "";
    const retry = message === undefined ? `retry: ${pick([0, 1, 30])}\n` : "";
    const text = `${id}${retry}data: ${message === undefined ? "" : JSON.stringify(message)}\n\n`;
    stream.events.push(text);
    if (stream.out && strikes("breakStream")) breakOff(stream);
    await write(stream, text);
  };

  /** What a server may say on the stream of a request before it answers. */
  const emitPrelude = async (
    stream: AnswerStream,
    { message }: WireRequest,
    session: ServerSession,
  ) => {
    if (stream.isKept && chance(0.7)) await emit(stream, undefined);
    const progressToken: unknown = message.params?.["_meta"]?.progressToken;
    if (progressToken !== undefined && chance(0.5)) {
      const params = { progressToken, progress: 1, message: message.params["_meta"].nonce };
      await emit(stream, { jsonrpc: "2.0", method: "notifications/progress", params });
    }
    if (chance(0.15)) {
      const id = session.questionCount;
      session.questionCount += 1;
      const nonce = `question ${id} of ${session.id.replaceAll("canary", "session")}`;
      session.questions.set(id, nonce);
      await emit(stream, { jsonrpc: "2.0", id, method: "elicitation/create", params: { nonce } });
    }
    if (strikes("stray")) {
      const id = pick([0, 1, 2, "0", "unknown", 10 ** 9]);
      await emit(stream, { jsonrpc: "2.0", id, result: { _meta: { nonce: "stray" } } });
    }
    if (chance(0.1)) {
      await emit(stream, { jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    }
  };

  const run = async (
    stream: AnswerStream,
    request: WireRequest,
    session: ServerSession,
    answered: Promise<object | undefined>,
  ) => {
    await emitPrelude(stream, request, session);
    const answer = await answered;
    if (answer !== undefined) {
      const other = [...session.streams.values()].find((open) => open !== stream && open.out);
      if (other && strikes("misroute")) await emit(other, answer);
      await emit(stream, answer);
      if (strikes("duplicate")) await emit(stream, answer);
      if (chance(0.2)) await turn(`stream ${stream.name} stays open`);
    } else await turn(`stream ${stream.name} is closed`);
    await stream.writing;
    stream.isOver = true;
    const { out } = stream;
    stream.out = undefined;
    if (answer === undefined && chance(0.5)) out?.error(new TypeError("terminated"));
    else out?.close();
  };

  return {
    /** Answers a request with an event stream. */
    open(
      request: WireRequest,
      server: SimulatedServer,
      session: ServerSession,
      answered: Promise<object | undefined>,
    ): Response {
      const stream: AnswerStream = {
        name: `${session.id.replaceAll("canary", "session")}_${session.streams.size}`,
        isKept: server.hasEventStore && chance(0.9),
        events: [],
        out: undefined,
        isOver: false,
        writing: Promise.resolve(),
      };
      session.streams.set(stream.name, stream);
      const body = openBody(stream, request.signal);
      void run(stream, request, session, answered);
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },

    /** Goes on with a stream that broke, after the last event that the client has. */
    resume(request: WireRequest, session: ServerSession): Response {
      const lastEventId = request.lastEventId ?? "";
      const cut = lastEventId.lastIndexOf("_");
      const stream = session.streams.get(lastEventId.slice(0, cut));
      if (!stream?.isKept) return new Response("Unknown event", { status: 400 });
      checks.count("stream resumed");
      const before = stream.out;
      const body = openBody(stream, request.signal);
      before?.close();
      const missed = stream.events.slice(Number(lastEventId.slice(cut + 1)) + 1).join("");
      if (missed !== "") stream.out?.enqueue(encoder.encode(missed));
      if (stream.isOver) {
        stream.out?.close();
        stream.out = undefined;
      }
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },

    /** A JSON answer in up to three pieces. */
    jsonInPieces(message: object): Response {
      const text = JSON.stringify(message);
      const headers = { "content-type": "application/json" };
      if (chance(0.7)) return new Response(text, { headers });
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (const piece of pieces(text)) {
            if (piece.length > 0) controller.enqueue(piece);
            await turn("an answer goes on");
          }
          controller.close();
        },
      });
      return new Response(body, { headers });
    },
  };
}
