import { abortable } from "../../src/base/bounded-wait.ts";
import { ownerName } from "./simulated-process.ts";
import { createStreams } from "./waiting-streams.ts";
import { createTasks } from "./waiting-tasks.ts";
import type { createSimulatedStore } from "./waiting-store.ts";
import type { WaitingCallPlan } from "./waiting-plan.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

export const waitingUrl = "https://shop.example/mcp";

/** Every `requestState` contains this, so that a leaked one is found. */
export const stateMarker = "canary-state";

/** What a server has asked: one round of one call. */
interface Asked {
  readonly call: WaitingCallPlan;
  readonly round: number;
  readonly at: number;
  taken: number;
}

/** A server without memory, as far as its clients can tell. It carries out whatever it is sent, as real ones do. */
export function createWaitingServer(
  world: WaitingWorld,
  store: ReturnType<typeof createSimulatedStore>,
) {
  const { plan, scheduler, random, strikes, count, violate } = world;
  const asked = new Map<string, Asked>();
  /** The final answers to each call. */
  const answers = new Map<string, Set<string>>();
  const runs = new Map<string, number>();

  const ask = (call: WaitingCallPlan, round: number) => {
    const serial = `${call.nonce}/${round}/${asked.size}`;
    asked.set(serial, { call, round, at: scheduler.now(), taken: 0 });
    const kind = call.rounds[round - 1];
    const requestedSchema = {
      type: "object",
      properties: { serial: { type: "string", enum: [serial] } },
    };
    const params = { message: serial, requestedSchema };
    return {
      resultType: "input_required",
      ...(kind !== "repeat" && {
        inputRequests: { ask: { method: "elicitation/create", params } },
      }),
      ...(kind !== "ask without state" && { requestState: `${stateMarker} ${serial}` }),
    };
  };

  const finish = (call: WaitingCallPlan, process: WaitingProcess) => {
    const times = (runs.get(call.nonce) ?? 0) + 1;
    runs.set(call.nonce, times);
    count("waiting: tool run");
    // Two steps may make the same call at once: each of their tasks and streams runs.
    const isKept = call.taskMs !== undefined || call.stream !== undefined;
    if (times > 1 && !call.isSafe && !isKept) {
      violate("one-leg", `${process.name} made ${call.nonce} run ${times} times`);
    }
    const content = [{ type: "text", text: `${call.nonce} run ${times}` }];
    const answer = random.chance(0.1)
      ? { error: { code: -32_000, message: `${call.nonce} failed ${times}` } }
      : { result: { resultType: "complete", content } };
    answers.set(call.nonce, (answers.get(call.nonce) ?? new Set()).add(textOf(answer)));
    return answer;
  };

  const tasks = createTasks(world, finish);
  const streams = createStreams(world, finish, store);

  /** Takes a leg, and checks that it is the same call, with the answer to its own question. */
  const take = (process: WaitingProcess, headers: Headers, { method, params }: any) => {
    if (method !== "tools/call") return tasks.answerTo(process, method, params);
    const { requestState, inputResponses } = params;
    const call = plan.calls.find(({ nonce }) => nonce === params.arguments?.nonce);
    const isSame =
      call !== undefined &&
      method === "tools/call" &&
      params.name === (call.isSafe ? "safe" : "order") &&
      headers.get("mcp-name") === params.name &&
      headers.get("mcp-param-nonce") === call.nonce;
    if (!isSame) violate("same-call", `${process.name} sent another call than the one that waits`);
    if (call === undefined) return { error: { code: -32_602, message: "No such call." } };
    if (headers.get("authorization") !== ownerName(call.principal)) {
      violate("same-call", `${process.name} sent ${call.nonce} of another principal`);
    }
    if (requestState === undefined && inputResponses === undefined) {
      count("waiting: first leg");
      if (call.taskMs !== undefined) {
        const isOfStep = process.kind === "step";
        if (!isOfStep) violate("one-leg", `${process.name} sent ${call.nonce} again`);
        return tasks.begin(call);
      }
      return { result: ask(call, 1) };
    }
    const ofState = requestState?.slice(stateMarker.length + 1) as string | undefined;
    const ofAnswer = inputResponses?.ask?.content?.serial as string | undefined;
    if (ofState !== undefined && ofAnswer !== undefined && ofState !== ofAnswer) {
      violate("same-call", `${process.name} sent the answer to ${ofAnswer} with another's state`);
    }
    const serial = ofAnswer ?? ofState;
    const question = asked.get(serial ?? "");
    if (question?.call !== call) {
      violate("same-call", `${process.name} sent a state that is not one of ${call.nonce}`);
      return { error: { code: -32_602, message: "No such question." } };
    }
    if (scheduler.now() - question.at > call.stateMs) {
      count("waiting: state expired");
      const data = { reason: "invalid_request_state" };
      return { error: { code: -32_602, message: "Expired.", data } };
    }
    question.taken += 1;
    process.legsTaken.set(call.nonce, (process.legsTaken.get(call.nonce) ?? 0) + 1);
    count("waiting: leg taken");
    if (question.taken > 1) {
      count("waiting: leg taken again");
      if (!call.isSafe) violate("one-leg", `${process.name} sent ${serial} a second time`);
    }
    const isLast = question.round >= call.rounds.length;
    return isLast ? finish(call, process) : { result: ask(call, question.round + 1) };
  };

  /** The way to the server and back. */
  const withFaults = async (process: WaitingProcess, work: () => Promise<Response>) => {
    const refused = strikes(process, "refusedLeg");
    if (refused && random.chance(0.3)) throw broken("ECONNREFUSED");
    if (refused) return new Response("No.", { status: random.pick([401, 403, 404, 429, 503]) });
    if (strikes(process, "brokenLeg")) throw broken("ECONNRESET");
    const response = await work();
    await process.turn("gets an answer");
    if (!strikes(process, "brokenLeg")) return response;
    if (random.chance(0.5)) throw broken("ECONNRESET");
    return new Response("Bad gateway", { status: random.pick([502, 408]) });
  };

  const answerTo = async (process: WaitingProcess, headers: Headers, message: any) => {
    const call = plan.calls.find(({ nonce }) => nonce === message.params.arguments?.nonce);
    // A task is made at once.
    const workMs = call?.taskMs === undefined ? (call?.workMs ?? 0) : 0;
    const own = { jsonrpc: "2.0", id: message.id, ...take(process, headers, message) };
    if (!process.isSafe) await process.sleep(workMs);
    if (random.chance(0.5)) return Response.json(own);
    const headersOfEvents = { "content-type": "text/event-stream" };
    return new Response(`data: ${JSON.stringify(own)}\n\n`, { headers: headersOfEvents });
  };

  const handle = async (process: WaitingProcess, input: RequestInfo | URL, init?: RequestInit) => {
    const message = init?.body ? JSON.parse(init.body as string) : undefined;
    await process.turn(`sends ${message?.method ?? (message ? "an answer" : "a GET")}`);
    if (input !== waitingUrl) violate("same-call", `${process.name} sent to another URL`);
    const headers = new Headers(init?.headers);
    const isStream = streams.isFor(headers, message);
    (isStream ? streams : tasks).sending(process, message);
    return await withFaults(process, async () =>
      isStream
        ? await streams.take(process, headers, message, init?.signal)
        : await answerTo(process, headers, message),
    );
  };

  return {
    streams,
    fetchOf:
      (process: WaitingProcess): typeof fetch =>
      async (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set("authorization", ownerName(process.principal));
        return await abortable(
          handle(process, input, { ...init, headers }),
          init?.signal ?? undefined,
        );
      },
    isAnswerTo: (nonce: string, answer: object) => answers.get(nonce)?.has(textOf(answer)) ?? false,
  };
}

/** An answer as JSON. That it is complete may be said or not. */
const textOf = ({ result, ...answer }: any) =>
  JSON.stringify({ ...answer, result: { ...result, resultType: "complete" } });

/** What `fetch` throws for a connection that breaks. */
function broken(code: string): TypeError {
  return Object.assign(new TypeError("fetch failed"), { cause: { code } });
}
