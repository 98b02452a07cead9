import { ownerName } from "./simulated-process.ts";
import type { WaitingCallPlan } from "./waiting-plan.ts";
import { stateMarker, waitingUrl } from "./waiting-server.ts";
import type { createSimulatedStore } from "./waiting-store.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

/** A stream is not looked at more often, in virtual milliseconds, if its server does not say so. */
const pauseMs = 2_000;
const encoder = new TextEncoder();

/** The stream of the answer to one request of one client. */
interface Stream {
  readonly call: WaitingCallPlan;
  /** The client's attempt at the call. */
  readonly attempt: string;
  /** The process of the client. */
  readonly client: string;
  readonly requestId: unknown;
  readonly sessionId: string;
  readonly events: string[];
  asked: number;
  answered: number;
  lookedAt: number;
  isOver?: boolean;
  isCancelled?: boolean;
  /** Who has sent an answer, and may look at once. */
  mayLookAtOnce?: string | undefined;
  reader?:
    | { process: WaitingProcess; out: ReadableStreamDefaultController<Uint8Array> }
    | undefined;
}

interface Question {
  readonly stream: Stream;
  readonly serial: string;
  taken: number;
  /** Who has read the stream since the last answer to it, and may send that again. */
  readBy?: string | undefined;
  /** Whether the server waits no more, and goes on without an answer. */
  isDead: boolean;
}

/** The sessions of a server of 2025-11-25, whose answers come on streams that any process can resume. */
export function createStreams(
  world: WaitingWorld,
  finish: (call: WaitingCallPlan, process: WaitingProcess) => object,
  { records, claimantOf }: Pick<ReturnType<typeof createSimulatedStore>, "records" | "claimantOf">,
) {
  const { scheduler, violate, count, plan, random, strikes } = world;
  const isSkewed = plan.actors.some(({ clockAheadMs }) => clockAheadMs !== 0);
  /** The owner of each session. */
  const sessions = new Map<string, string>();
  const streams: Stream[] = [];
  const questions: Question[] = [];
  /** The attempts that the server has taken. */
  const taken = new Set<string>();
  /** The attempts whose clients wait for their answers. */
  const inStep = new Set<string>();
  let opened = 0;

  const wasMade = (nonce: string) => [...taken].some((attempt) => attempt.startsWith(`${nonce} `));

  const open = (owner: string) => {
    opened += 1;
    const id = `${stateMarker}-session-${opened}`;
    sessions.set(id, owner);
    return id;
  };
  const streamOf = (eventId: string) => {
    const [, index] = /-stream-(\d+)-\d+$/.exec(eventId) ?? [];
    const stream = streams[Number(index)];
    return stream && sessions.has(stream.sessionId) ? stream : undefined;
  };
  const recordOf = (stream: Stream) =>
    records().find(({ held }) => held?.type === "stream" && streamOf(held.eventId) === stream);

  const breakOff = (stream: Stream) => {
    const { reader } = stream;
    stream.reader = undefined;
    if (random.chance(0.5)) reader?.out.close();
    else reader?.out.error(new TypeError("terminated"));
  };
  /** The dead read nothing. */
  const write = (stream: Stream, text: string) => {
    const { reader } = stream;
    if (reader === undefined || text === "") return;
    if (!strikes(reader.process, "brokenStream")) {
      const cut = random.below(text.length);
      for (const part of [text.slice(0, cut), text.slice(cut)])
        reader.out.enqueue(encoder.encode(part));
      return;
    }
    reader.out.enqueue(encoder.encode(text.slice(0, random.below(text.length + 1))));
    breakOff(stream);
  };
  const emit = (stream: Stream, ...messages: (object | undefined)[]) => {
    const from = stream.events.length;
    for (const message of messages) {
      const id = `${stateMarker}-stream-${streams.indexOf(stream)}-${stream.events.length}`;
      const data = message ? JSON.stringify({ jsonrpc: "2.0", ...message }) : "";
      stream.events.push(`id: ${id}\ndata: ${data}\n\n`);
    }
    write(stream, stream.events.slice(from).join(""));
  };
  const endIfOver = (stream: Stream) => {
    if (!stream.isOver) return;
    stream.reader?.out.close();
    stream.reader = undefined;
  };

  /** The server waits no more: an answer may be lost on its way. */
  const giveUp = (question: Question, process: WaitingProcess) => {
    const { stream } = question;
    if (question.taken > 0 || stream.isOver) return;
    count("waiting: question given up");
    question.isDead = true;
    stream.answered += 1;
    const params = { requestId: questions.indexOf(question) };
    emit(stream, { method: "notifications/cancelled", params });
    goOn(stream, process);
  };

  /** The server goes on with its work. */
  const goOn = (stream: Stream, process: WaitingProcess) => {
    const { call, requestId: id } = stream;
    if (stream.isOver || stream.asked > stream.answered) return;
    const left = call.rounds.length - stream.asked;
    const asks = Array.from({ length: call.stream!.asksAtOnce ? left : Math.min(1, left) }, () => {
      stream.asked += 1;
      const serial = `${call.nonce}/${questions.length}`;
      const question = { stream, serial, taken: 0, isDead: false };
      questions.push(question);
      scheduler.setTimer(() => giveUp(question, process), call.stateMs);
      const requestedSchema = { type: "object", properties: { serial: { type: "string" } } };
      const params = { message: serial, requestedSchema };
      return { id: questions.length - 1, method: "elicitation/create", params };
    });
    if (asks.length > 0) return emit(stream, ...asks);
    stream.isOver = true;
    emit(stream, { id, ...finish(call, process) });
    endIfOver(stream);
  };

  const read = (stream: Stream, process: WaitingProcess, from: number, signal: any) => {
    if (stream.reader) breakOff(stream);
    const body = new ReadableStream<Uint8Array>({
      start(out) {
        if (signal?.aborted) return out.error(signal.reason);
        const reader = { process, out };
        stream.reader = reader;
        const leave = () => {
          if (stream.reader === reader) stream.reader = undefined;
        };
        void process.died.then(leave);
        signal?.addEventListener("abort", () => {
          if (stream.reader === reader) out.error(signal.reason);
          leave();
        });
        write(stream, stream.events.slice(from).join(""));
        endIfOver(stream);
      },
      cancel: () => void (stream.reader = undefined),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  const begin = async (process: WaitingProcess, sessionId: string, message: any, signal: any) => {
    const { name, arguments: args, _meta } = message.params;
    const call = plan.calls.find(({ nonce }) => nonce === args.nonce)!;
    const { workMs, isJson, primes } = call.stream!;
    if (
      name !== (call.isSafe ? "safe" : "order") ||
      sessions.get(sessionId) !== ownerName(call.principal)
    )
      violate("same-call", `${process.name} sent another call than ${call.nonce}`);
    count("waiting: call with a stream");
    if (
      taken.has(_meta.attempt) ||
      (wasMade(call.nonce) && plan.record === "first" && !call.isSafe)
    )
      violate("one-leg", `${process.name} made ${call.nonce} run again`);
    taken.add(_meta.attempt);
    const stream: Stream = {
      ...{
        call,
        attempt: _meta.attempt,
        client: process.name,
        requestId: message.id,
        sessionId,
        events: [],
      },
      ...{ asked: 0, answered: 0, lookedAt: scheduler.now() },
    };
    if (isJson) {
      await process.sleep(workMs);
      return Response.json({ jsonrpc: "2.0", id: message.id, ...finish(call, process) });
    }
    streams.push(stream);
    if (primes) emit(stream, undefined);
    const response = read(stream, process, 0, signal);
    scheduler.setTimer(() => goOn(stream, process), workMs);
    return response;
  };

  const resume = (process: WaitingProcess, eventId: string, signal: any) => {
    const stream = streamOf(eventId);
    if (stream === undefined) return new Response("No such stream.", { status: 400 });
    // Whoever has sent it has left meanwhile.
    if (signal?.aborted) return new Response(null, { status: 204 });
    const { call, attempt } = stream;
    const isInStep = inStep.has(attempt) && stream.client === process.name;
    count(`waiting: stream ${isInStep ? "resumed in its step" : "looked at"}`);
    // Its client has said goodbye before the record was there.
    if (!isInStep && stream.isCancelled)
      violate("settleable", `${call.nonce} waits, and ${stream.client} stopped ${call.nonce}`);
    if (!isInStep && !isSkewed) {
      const record = recordOf(stream);
      const isClaimed = record?.state === "answering" && claimantOf(record) === process.name;
      if (!isClaimed) violate("look-claimed", `${process.name} looked at ${call.nonce} unclaimed`);
      const isEarly = scheduler.now() - stream.lookedAt < pauseMs;
      if (isEarly && stream.mayLookAtOnce !== process.name)
        violate("look-due", `${process.name} looked at the stream of ${call.nonce} too early`);
    }
    for (const question of questions)
      if (question.stream === stream) question.readBy = process.name;
    // One in its step may come late, when the call is left already.
    if (!isInStep) {
      stream.mayLookAtOnce = undefined;
      stream.lookedAt = scheduler.now();
    }
    if (stream.reader && !process.isSafe && random.chance(0.2))
      return new Response("Another reads it.", { status: 409 });
    return read(stream, process, Number(eventId.split("-").at(-1)) + 1, signal);
  };

  const takeAnswer = async (process: WaitingProcess, sessionId: string, message: any) => {
    const question = questions[message.id];
    const serial = message.result?.content?.serial;
    if (question?.serial !== serial || question?.stream.sessionId !== sessionId) {
      violate("same-call", `${process.name} sent the answer to ${serial} elsewhere`);
      return;
    }
    const { stream } = question;
    count("waiting: question on a stream answered");
    process.legsTaken.set(stream.call.nonce, (process.legsTaken.get(stream.call.nonce) ?? 0) + 1);
    question.taken += 1;
    const { readBy } = question;
    question.readBy = undefined;
    if (question.taken > 1) {
      count("waiting: answer sent again");
      if (readBy !== process.name)
        violate("one-leg", `${process.name} sent the answer to ${serial} a second time`);
      return;
    }
    if (question.isDead) return;
    stream.answered += 1;
    await scheduler.turns(random.below(4));
    goOn(stream, process);
  };

  const cancel = (process: WaitingProcess, requestId: unknown) => {
    const stream = streams.find((each) => each.requestId === requestId);
    if (stream === undefined || stream.isOver) return;
    count("waiting: stream cancelled");
    if (recordOf(stream)?.state === "waiting")
      violate("settleable", `${process.name} stopped ${stream.call.nonce}, which waits`);
    stream.isOver = true;
    stream.isCancelled = true;
    endIfOver(stream);
  };

  const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} } };
  const initializeResult = { ...result, serverInfo: { name: "shop", version: "1" } };

  return {
    isFor: (headers: Headers, message: any): boolean =>
      headers.has("mcp-session-id") || message?.method === "initialize",
    /** Notes that an answer is on its way: whoever does not hear that it came may look at once. */
    sending({ name }: WaitingProcess, message: any) {
      const stream = message?.method === undefined && questions[message?.id]?.stream;
      if (stream) stream.mayLookAtOnce = name;
    },
    async take(process: WaitingProcess, headers: Headers, message: any, signal: any) {
      if (message?.method === "initialize") {
        const id = open(headers.get("authorization")!);
        const answer = { jsonrpc: "2.0", id: message.id, result: initializeResult };
        return Response.json(answer, { headers: { "mcp-session-id": id } });
      }
      const sessionId = headers.get("mcp-session-id")!;
      if (!sessions.has(sessionId)) {
        count("waiting: session unknown");
        const error = { code: -32_001, message: "Session not found" };
        return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
      }
      if (sessions.get(sessionId) !== headers.get("authorization"))
        violate("same-call", `${process.name} used another principal's session`);
      if (message === undefined) {
        const eventId = headers.get("last-event-id");
        if (eventId === null) return new Response(null, { status: 405 });
        return resume(process, eventId, signal);
      }
      if (message.method === "tools/call") return await begin(process, sessionId, message, signal);
      if (message.method === "notifications/cancelled") cancel(process, message.params.requestId);
      if (message.method === undefined) void takeAnswer(process, sessionId, message);
      return new Response(null, { status: 202 });
    },
    forget() {
      count("waiting: sessions forgotten");
      sessions.clear();
      for (const stream of streams) if (stream.reader) breakOff(stream);
    },
    /** What a process has of the session of its principal. */
    snapshotOf({ principal }: WaitingProcess) {
      const owner = ownerName(principal);
      const ids = [...sessions].flatMap(([id, of]) => (of === owner ? [id] : []));
      const sessionId = ids.at(-1) ?? open(owner);
      const clientCapabilities = { elicitation: { form: {}, url: {} } };
      const own = { url: waitingUrl, sessionId, initializeResult, clientCapabilities };
      return { version: 1, kind: "session", ...own } as const;
    },
    inStep,
    /** Whether the server took any attempt at a call. */
    wasMade,
    wasTaken: (attempt: string) => taken.has(attempt),
    /** Whether the server still has the answer of a call, or will have it. */
    has(eventId: string): boolean {
      const stream = streamOf(eventId);
      return stream !== undefined && !stream.isCancelled;
    },
  };
}
