import { parseEvents } from "../parse-events.ts";
import { McpSessionError } from "../../src/index.ts";
import type { KeptCalls } from "../../src/waiting/internal.ts";
import type { Parts } from "./parts.ts";
import type { WaitingCallPlan } from "./waiting-plan.ts";
import { type createWaitingServer, waitingUrl } from "./waiting-server.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

interface StreamClientParts {
  readonly world: WaitingWorld;
  readonly parts: Parts;
  readonly server: ReturnType<typeof createWaitingServer>;
  readonly process: WaitingProcess;
  readonly kept: KeptCalls;
  readonly now: () => number;
}

/** Ends that say that the server has not begun the call. */
const saysUnsent = /not carried out/;

/** What a client with a session does in a process: it makes a call, whose answer may come on a stream. */
export function createStreamClient(all: StreamClientParts) {
  const { world, parts, server, process, kept, now } = all;
  const { violate, count, random } = world;
  const { streams } = server;
  const fetch = server.fetchOf(process);
  let attempts = 0;

  /** Whatever the client hears of a call is true. */
  const hear = (nonce: string, attempt: string, { code, message = "" }: any) => {
    count(`waiting: client told ${code}`);
    const isUnsent =
      code === "CONNECTION_UNAVAILABLE" || code === "SESSION_LOST" || saysUnsent.test(message);
    if (isUnsent && streams.wasTaken(attempt))
      violate("honest-failure", `${process.name} was told ${code} of ${nonce}, which was taken`);
  };

  return {
    /** @returns what the client gets, as text */
    async call({ nonce, isSafe }: WaitingCallPlan, signal?: AbortSignal): Promise<string> {
      attempts += 1;
      const attempt = `${nonce} ${process.name}#${attempts}`;
      const wrap: NonNullable<Parameters<Parts["createSessionFetch"]>[0]["waiting"]>["wrap"] = (
        inner,
        slot,
      ) => {
        const where = { url: new URL(waitingUrl), connection: "shop", slot };
        const own = kept.wrap(inner, where);
        return async (input, init) => await own(input, init, { toolCallId: nonce });
      };
      const slot = parts.createSessionSlot(streams.snapshotOf(process));
      const clientFetch = parts.createSessionFetch({
        ...{ url: waitingUrl, slot, fetch, now, waiting: { wrap } },
        cancelOnAbort: random.chance(0.5),
      });
      const post = async (message: object, own?: AbortSignal) =>
        await clientFetch(waitingUrl, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
          },
          body: JSON.stringify({ jsonrpc: "2.0", ...message }),
          ...(own && { signal: own }),
        });
      const abort = new AbortController();
      /** Clients cancel their call, or only end it. */
      const leave = async () => {
        count("waiting: client leaves");
        const cancelled = { method: "notifications/cancelled", params: { requestId: 1 } };
        if (random.chance(0.5)) await post(cancelled).catch(() => undefined);
        abort.abort(signal?.reason);
      };
      signal?.addEventListener("abort", () => void leave(), { once: true });
      const name = isSafe ? "safe" : "order";
      const params = { name, arguments: { nonce }, _meta: { attempt } };
      streams.inStep.add(attempt);
      try {
        const response = await post({ id: 1, method: "tools/call", params }, abort.signal);
        const text = await response.text();
        if (!response.ok) return text;
        const said = response.headers.get("content-type")?.startsWith("text/event-stream")
          ? parseEvents(text).events.flatMap(({ data }) => (data === "" ? [] : [data]))
          : [text];
        const messages = said.map((each) => JSON.parse(each));
        if (messages.some(({ method }) => method === "elicitation/create"))
          violate("question-kept", `${process.name} got a question of ${nonce} that no store has`);
        const answer = messages.find(({ id }) => id === 1);
        if (answer === undefined) {
          violate("settleable", `${process.name} got no answer to ${nonce}`);
          return text;
        }
        const { error, result } = answer;
        const isOwn = server.isAnswerTo(nonce, error ? { error } : { result });
        const code = error?.data?.code;
        if (code) hear(nonce, attempt, { code, message: error.message });
        else if (!isOwn && !parts.waiting.waitingCallOf(result))
          violate("own-result", `${process.name} got an answer to ${nonce} that no server gave`);
        count(isOwn ? "waiting: answer in step" : "waiting: other end in step");
        return JSON.stringify(answer);
      } catch (error) {
        if (abort.signal.aborted) count("waiting: client left");
        else if (McpSessionError.isInstance(error)) hear(nonce, attempt, error);
        else if (error instanceof TypeError) count("waiting: client's connection broke");
        else violate("settleable", `${process.name} got ${String(error)} for ${nonce}`);
        throw error;
      } finally {
        streams.inStep.delete(attempt);
      }
    },
  };
}
