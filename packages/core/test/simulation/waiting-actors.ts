import { McpSessionError, type SessionStore } from "../../src/index.ts";
import type { WaitingCall } from "../../src/waiting/index.ts";
import type { Parts } from "./parts.ts";
import type { ActorPlan, WaitingCallPlan } from "./waiting-plan.ts";
import { createStreamClient } from "./waiting-stream-client.ts";
import { stateMarker, waitingUrl } from "./waiting-server.ts";
import type { createWaitingServer } from "./waiting-server.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

/** What processes were told of calls, and what must be true of it later. */
export interface Told {
  /** The result or the error of each settled call, as JSON, by the call's id. */
  readonly settled: Map<string, string>;
  /** The last round of each call. */
  readonly rounds: Map<string, number>;
  /** The state in which a call ended, if nothing can follow it. */
  readonly ended: Map<string, string>;
}

interface ActorContext {
  readonly world: WaitingWorld;
  readonly parts: Parts;
  readonly server: ReturnType<typeof createWaitingServer>;
  readonly store: SessionStore;
  readonly records: () => any[];
  /** The ids of records that were deleted. */
  readonly deleted: ReadonlySet<string>;
  readonly told: Told;
}

/** The reason of one who stops waiting for the server. */
const left = "that its caller left";

const answerOf = (call: WaitingCall) =>
  Object.fromEntries(
    Object.entries(call.requests).map(([key, { params }]) => {
      const content = { serial: (params as { message: string }).message };
      return [key, { action: "accept", content } as const];
    }),
  );

/** What one process does with waiting calls. */
export function createWaitingActor(process: WaitingProcess, context: ActorContext) {
  const { world, server, store, records, deleted, told } = context;
  const parts = context.parts.waiting;
  const { plan, scheduler, violate, count, random } = world;
  const { name, principal } = process;
  const now = () => scheduler.now() + process.clockAheadMs;
  const { maxAgeMs, onExpired, afterMs } = plan;
  const limits = { maxAgeMs, onExpired, afterMs, safeTools: ["safe"] };
  const fetch = server.fetchOf(process);

  const say = (what: unknown) => {
    const text = what instanceof Error ? `${what.message} ${JSON.stringify(what)}` : what;
    if (JSON.stringify(text)?.includes(stateMarker))
      violate("state-secret", `${name} was told a state`);
  };
  const options = { now, onEvent: say, ...limits };
  const waiting = parts.createWaitingCalls({
    ...options,
    ...{ store, sessionId: "chat", principal, connection: "shop", url: waitingUrl },
  });

  const hear = ({ call, result, error }: Awaited<ReturnType<typeof parts.answerWaitingCall>>) => {
    say([call, result, error]);
    count(`waiting: told ${call.state}`);
    const { id, state, round, toolCallId } = call;
    if (state === "waiting") told.rounds.set(id, Math.max(round, told.rounds.get(id) ?? 0));
    if (state === "withdrawn" || state === "expired") told.ended.set(id, state);
    if (state !== "settled" || (result ?? error) === undefined) return;
    const answer = { ...(error ? { error } : { result }) };
    const text = JSON.stringify(answer);
    const before = told.settled.get(id);
    if (before !== undefined && before !== text) {
      violate("answer-kept", `${name} was told another result of ${toolCallId} than before`);
    }
    const isBounded = error?.message.includes("more than 10 times");
    if (isBounded) count("waiting: too many rounds");
    else if (!server.isAnswerTo(toolCallId!, answer)) {
      violate("own-result", `${name} was told a result of ${toolCallId} that no server gave`);
    }
    told.settled.set(id, text);
  };

  const keptWith = (own: object) => {
    const owner = { agent: "default", sessionId: "chat", principal };
    const calls = parts.createWaitingStore(store, owner);
    return parts.createKeptCalls(calls, { ...options, ...own });
  };
  const kept = keptWith({});
  const streamClient = createStreamClient({
    ...{ world, server, process, now, parts: context.parts },
    kept: keptWith({ record: plan.record }),
  });

  /** Makes a call as a client does. */
  const makeCall = async (call: WaitingCallPlan, signal?: AbortSignal) => {
    if (call.stream) return hearPlaceholder(await streamClient.call(call, signal));
    const { nonce, isSafe } = call;
    const where = { url: new URL(waitingUrl), connection: "shop" };
    const clientFetch = kept.wrap(fetch, where);
    const tool = isSafe ? "safe" : "order";
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const params = { name: tool, arguments: { nonce }, _meta: meta };
    const request = {
      method: "POST",
      headers: { "mcp-name": tool, "mcp-param-nonce": nonce },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    };
    const response = await clientFetch(waitingUrl, request, { toolCallId: nonce });
    hearPlaceholder(await response.text());
  };

  const hearPlaceholder = (text: string) => {
    say(text);
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    const call = data.startsWith("{") && parts.waitingCallOf(JSON.parse(data).result);
    if (!call) return;
    count("waiting: placeholder");
    // Another step may have made the call, and been refused since.
    if (!records().some(({ id }) => id === call.id) && !deleted.has(call.id)) {
      violate("question-kept", `${name} got a placeholder for a call that is in no store`);
    }
  };

  const answer = async (id: string, call: WaitingCall, abortSignal?: AbortSignal) => {
    const legs = () => process.legsTaken.get(call.toolCallId!) ?? 0;
    const before = legs();
    const use = { fetch, ...(random.chance(0.5) && { round: call.round }), abortSignal };
    try {
      hear(await parts.answerWaitingCall(waiting, id, answerOf(call), use));
    } catch (error) {
      say(error);
      const code = McpSessionError.isInstance(error) ? error.code : error;
      if (typeof code !== "string") throw error;
      count(`waiting: told ${code}`);
      const isUnsent = code !== "OUTCOME_UNKNOWN" && code !== "STORE_FAILED";
      if (isUnsent && legs() > before) {
        violate("honest-failure", `${name} was told ${code}, and a leg was taken`);
      }
    }
  };

  const look = async () => await parts.checkWaitingCalls(waiting, { fetch });

  const tasks: Record<ActorPlan["kind"], (plan: ActorPlan) => Promise<void>> = {
    async step({ leavesAfterMs }) {
      const leaving = new AbortController();
      if (leavesAfterMs) scheduler.setTimer(() => leaving.abort(left), leavesAfterMs);
      const calls = plan.calls.filter((call) => ownerOf(call) === ownerOf({ principal }));
      await Promise.all(
        calls.map(
          async (call) =>
            await makeCall(call, leavesAfterMs ? leaving.signal : undefined).catch(say),
        ),
      );
    },
    async person({ leavesAfterMs }) {
      const open = (await waiting.list()).filter(
        ({ state, type }) => state === "waiting" && type === "question",
      );
      if (open.length === 0) return;
      const call = random.pick(open);
      const leaving = new AbortController();
      if (leavesAfterMs) scheduler.setTimer(() => leaving.abort(left), leavesAfterMs);
      await answer(call.id, call, leavesAfterMs ? leaving.signal : undefined);
    },
    async looker() {
      for (const call of await look()) hear({ call });
    },
    async withdrawer() {
      const [call] = await waiting.list();
      if (call === undefined || random.chance(0.5)) return;
      hear({ call: await waiting.withdraw(call.id) });
    },
    /** Knows the ids of everybody, and what they were asked. */
    async nosy() {
      for (const { id, requests, round, toolCallId } of records()) {
        await answer(id, { id, requests, round, toolCallId } as WaitingCall);
      }
    },
  };

  return {
    waiting,
    hear,
    answer,
    look,
    async act(own: ActorPlan) {
      for (let time = 0; time < own.times; time += 1) {
        await process.sleep(own.pauseMs);
        await process.turn(own.kind);
        await tasks[own.kind](own).catch((error: unknown) => {
          say(error);
          if (!McpSessionError.isInstance(error)) throw error;
        });
      }
    },
  };
}

function ownerOf({ principal }: Pick<WaitingCallPlan, "principal">): string {
  return JSON.stringify(principal);
}
