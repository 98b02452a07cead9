import { abortable } from "../../src/base/bounded-wait.ts";
import { createAnswerStreams } from "./answer-streams.ts";
import type { Delivery, WireRequest } from "./invariant-model.ts";
import type { InvariantChecks } from "./invariants.ts";
import type { FaultRates } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import { describe, events, json, jsonType, readRequest, text } from "./simulated-messages.ts";
import {
  expiredOnTheWay,
  type Refusal,
  type ServerSession,
  type SimulatedServer,
} from "./simulated-server.ts";

const reset = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });

/** The answer, which breaks off after a piece of it. */
function cutOff(response: Response): Response {
  const { headers } = response;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"jsonrpc":'));
      controller.error(new TypeError("terminated", { cause: reset }));
    },
  });
  return new Response(body, { headers });
}

/** The network and the servers on it, as a `fetch` for each process. */
export function createSimulatedNetwork({
  random,
  scheduler,
  checks,
  faults,
  heedsSignals,
  servers,
}: {
  random: Random;
  scheduler: Scheduler;
  checks: InvariantChecks;
  faults: FaultRates;
  heedsSignals: boolean;
  servers: ReadonlyMap<string, SimulatedServer>;
}): (slot: string) => typeof globalThis.fetch {
  const { turn } = scheduler;
  const { chance } = random;
  const streams = createAnswerStreams({ random, scheduler, checks, faults, heedsSignals });

  const strikes = (fault: keyof FaultRates) => {
    if (!chance(faults[fault])) return false;
    checks.count(`fault: ${fault}`);
    return true;
  };

  /** The sessions that the server made for requests on sessions that it does not know. */
  const adoptedBy = new Map<WireRequest, string>();

  const adopt = (request: WireRequest, server: SimulatedServer): ServerSession => {
    const session = server.start(request.owner, request.version);
    session.isReady = true;
    checks.issued(session);
    checks.count("session adopted");
    adoptedBy.set(request, session.id);
    return session;
  };

  /** The way back. A process that has gone away is told nothing. */
  const deliver = async (
    request: WireRequest,
    response: Response,
    delivery: Delivery,
    openedId?: string,
  ): Promise<Response> => {
    const adopting = adoptedBy.get(request);
    const isRepeated = servers.get(request.url)?.repeatsId;
    const named = adopting ?? (isRepeated ? request.sessionId : undefined);
    if (named !== undefined) response.headers.set("mcp-session-id", named);
    await turn(`${describe(request)} <- ${response.status}`);
    if (heedsSignals && request.signal?.aborted) return response;
    checks.delivered(request, delivery, openedId);
    if (adopting !== undefined && delivery === "ok") checks.named(request, adopting);
    return response;
  };

  const fail = async (request: WireRequest): Promise<never> => {
    await turn(`${describe(request)} <- broken connection`);
    if (!(heedsSignals && request.signal?.aborted)) checks.delivered(request, "failed");
    throw new TypeError("fetch failed", random.chance(0.5) ? { cause: reset } : {});
  };

  const refuse = (request: WireRequest, { status, body, loss }: Refusal) => {
    // Nobody reads more of the answer to an acknowledgement.
    const isTaken = status === 200 && request.message?.method === "notifications/initialized";
    return deliver(request, text(status, body(request)), isTaken ? "ok" : loss);
  };

  const initialize = async (request: WireRequest, server: SimulatedServer) => {
    if (strikes("slowHandshake")) await scheduler.turns(10);
    if (request.sessionId !== undefined) {
      return await deliver(request, text(400, "Server already initialized"), "refused");
    }
    const session = server.start(request.owner);
    checks.issued(session);
    if (strikes("network")) return await fail(request);
    const result = {
      protocolVersion: session.version,
      capabilities: { tools: {} },
      serverInfo: { name: "simulated", version: "1" },
    };
    const message = { jsonrpc: "2.0", id: request.message.id, result };
    const headers = { "mcp-session-id": session.id };
    const response =
      server.answersAs === "json" ? json(message, headers) : events(message, headers);
    return strikes("cut")
      ? await deliver(request, cutOff(response), "cut")
      : await deliver(request, response, "ok", session.id);
  };

  /** A notification, or the client's answer to a question. */
  const takeOneWay = async (request: WireRequest, session: ServerSession) => {
    const { message } = request;
    if (message.method === "notifications/initialized") {
      if (strikes("slowHandshake")) await scheduler.turns(10);
      session.isReady = true;
    }
    if (message.method === "notifications/cancelled") {
      checks.count("cancellation");
      session.cancelled.add(JSON.stringify(message.params.requestId));
    }
    if (message.method === undefined) {
      checks.count("question answered");
      if (session.questions.get(message.id) !== message.result?.nonce) {
        checks.violate(
          "own-answer",
          `${request.slot} answered a question that this session did not ask`,
        );
      }
    }
    if (strikes("network")) return await fail(request);
    return await deliver(request, new Response(null, { status: 202 }), "ok");
  };

  const work = async (
    request: WireRequest,
    server: SimulatedServer,
    session: ServerSession,
  ): Promise<object> => {
    const { message } = request;
    const generation = server.generation();
    await turn(`${describe(request)} works`);
    // The process that should have done it is dead.
    if (server.generation() !== generation) return await new Promise(() => {});
    const answer = { jsonrpc: "2.0", id: message.id };
    if (message.method === "tools/list") {
      const description = `${session.url} ${session.owner}`;
      const tools = ["read", "write"].map((name) => ({
        name,
        description,
        inputSchema: { type: "object" },
      }));
      return { ...answer, result: { tools } };
    }
    const nonce: string = message.params?.arguments?.nonce ?? message.params?.["_meta"]?.nonce;
    if (message.method === "ping") return { ...answer, result: { _meta: { nonce } } };
    checks.ran(nonce);
    if (chance(0.1)) {
      return {
        ...answer,
        error: {
          code: -32603,
          message: `failed in ${session.id}`,
          data: { nonce, session: session.id },
        },
      };
    }
    const content = [{ type: "text", text: chance(0.02) ? nonce + " ".repeat(20_000) : nonce }];
    const result = { content, _meta: { nonce } };
    // Servers print the id first or last.
    return chance(0.5) ? { ...answer, result } : { result, ...answer };
  };

  const takeRequest = async (
    request: WireRequest,
    server: SimulatedServer,
    session: ServerSession,
  ) => {
    const key = JSON.stringify(request.message.id);
    const { promise, resolve } = Promise.withResolvers<object | undefined>();
    session.responders.set(key, { answer: resolve, close: () => resolve(undefined) });
    const finish = async () => {
      const answer = await work(request, server, session);
      const responder = session.responders.get(key);
      session.responders.delete(key);
      // Some servers honour a cancellation by closing the connection.
      if (session.cancelled.has(key) && chance(0.5)) responder?.close();
      else responder?.answer(answer);
    };
    void finish();
    const isStream =
      server.answersAs === "events" || (server.answersAs === "either" && chance(0.5));
    if (isStream) {
      return await deliver(request, streams.open(request, server, session, promise), "ok");
    }
    const answer = await promise;
    if (answer === undefined || strikes("network")) return await fail(request);
    if (strikes("outage")) return await deliver(request, text(502, "Bad gateway"), "outage");
    if (strikes("probableAfterwards")) {
      // Or the words are of another session than the MCP one.
      if (chance(0.9)) server.sessions.delete(session.id);
      return await refuse(request, expiredOnTheWay);
    }
    if (request.message.method === "tools/list" && strikes("cut"))
      return await deliver(request, cutOff(json(answer)), "cut");
    const response = strikes("truncate")
      ? new Response(JSON.stringify(answer).slice(0, -5), { headers: jsonType })
      : streams.jsonInPieces(answer);
    return await deliver(request, response, "ok");
  };

  const handle = async (request: WireRequest): Promise<Response> => {
    await turn(`${describe(request)} ->`);
    const server = servers.get(request.url);
    if (server === undefined) {
      checks.count("request to another URL");
      return await deliver(request, json({}), "ok");
    }
    if (strikes("network")) return await fail(request);
    if (strikes("outage")) {
      const status = random.pick([502, 503, 504]);
      return await deliver(request, text(status, `Overloaded, ${request.sessionId}`), "outage");
    }
    if (strikes("unauthorized"))
      return await deliver(request, text(401, "Who are you?"), "refused");
    if (strikes("redirect")) {
      const headers = { location: "https://elsewhere.example/mcp" };
      return await deliver(request, new Response(null, { status: 307, headers }), "failed");
    }
    const { method, message } = request;
    const isInitialize = method === "POST" && message.method === "initialize";
    // What stands before the server knows no way to it, as during a deploy.
    if (strikes("notFound")) {
      const delivery = isInitialize ? "refused" : "definite-loss";
      return await deliver(request, text(404, "404 page not found"), delivery);
    }
    if (isInitialize) return await initialize(request, server);
    if (strikes("forget")) server.sessions.delete(request.sessionId ?? "");
    // An answer to a question of a forgotten session means nothing to another.
    const isAdopted = server.adopts && request.sessionId !== undefined && message?.method;
    const session =
      server.sessions.get(request.sessionId ?? "") ??
      (isAdopted ? adopt(request, server) : undefined);
    if (
      session !== undefined &&
      server.isStrict &&
      !session.isReady &&
      message?.method !== "notifications/initialized"
    ) {
      server.sessions.delete(session.id);
      return await refuse(request, server.refusal);
    }
    if (session === undefined) return await refuse(request, server.refusal);
    if (method === "GET") return await deliver(request, streams.resume(request, session), "ok");
    if (method === "DELETE") {
      server.end(session.id);
      return await deliver(request, new Response(null, { status: 200 }), "ok");
    }
    const isRequest = message.method !== undefined && message.id !== undefined;
    return await (isRequest ? takeRequest(request, server, session) : takeOneWay(request, session));
  };

  return (slot) => async (input, init) => {
    const request = readRequest(slot, input, init);
    request.signal?.throwIfAborted();
    checks.sent(request);
    const answer = handle(request);
    const response = await (heedsSignals ? abortable(answer, request.signal) : answer);
    const location = response.headers.get("location");
    if (location === null || init?.redirect === "manual") return response;
    // As `fetch` does, the id included.
    const other = readRequest(slot, location, init);
    checks.sent(other);
    return await handle(other);
  };
}
