/** Each operation of the store fails once while a call is made: the call is not lost, and what is told is so. */

import { expect, onTestFinished, test, vi } from "vitest";
import { passTime, principal, url } from "../../test/asking-server.ts";
import { startLedger, type Ledger } from "../../test/ledger-server.ts";
import { readMessages } from "../../test/rpc-client.ts";
import { yes } from "../../test/yes-or-no.ts";
import { createMemoryStore, McpSessionError, type SessionStore } from "../index.ts";
import {
  answerWaitingCall,
  checkWaitingCalls,
  createWaitingCalls,
  waitingCallOf,
  type WaitingEvent,
} from "./index.ts";
import type { createWaitingFetch } from "./steps/waiting-fetch.ts";

const kinds = ["question", "task of 2026-07-28", "task of 2025-11-25", "stream"] as const;
type Kind = (typeof kinds)[number];

interface Case {
  readonly kind: Kind;
  readonly record: "late" | "first";
  readonly end: "settled in its step" | "left";
}
const cases = kinds.flatMap((kind) =>
  (["late", "first"] as const).flatMap((record) =>
    (["settled in its step", "left"] as const).map((end): Case => ({ kind, record, end })),
  ),
);
/** When the operation fails: before it is done, or after. */
const moments = ["before", "after"] as const;

interface Fault {
  readonly at: number;
  readonly moment: (typeof moments)[number];
  /** How many operations fail from there. @default 1 */
  readonly times?: number;
}

/** The real store, whose operations fail as `fault` says, and count. */
function failing(inner: SessionStore, fault: Fault | undefined) {
  let count = 0;
  const operate =
    (name: "get" | "put" | "touch" | "delete" | "list") =>
    async (...args: never[]): Promise<never> => {
      const own = count++;
      const { at = Infinity, moment, times = 1 } = fault ?? {};
      const fails = own >= at && own < at + times;
      const failure = new McpSessionError("STORE_FAILED", `The store failed at ${name}.`);
      if (fails && moment === "before") throw failure;
      const result = await (inner[name] as (...all: never[]) => Promise<never>)(...args);
      if (fails) throw failure;
      return result;
    };
  const store: SessionStore = {
    ...{ get: operate("get"), put: operate("put"), touch: operate("touch") },
    ...{ delete: operate("delete"), list: operate("list") },
  };
  return { store, count: () => count };
}

/** Makes the call in its step, and brings it to its end in another process. */
async function play({ kind, record, end }: Case, fault?: Fault) {
  const memory = createMemoryStore();
  const { store, count } = failing(memory, fault);
  const server: Ledger = startLedger(kind, end);
  const events: WaitingEvent[] = [];
  let aheadMs = 0;
  const common = {
    ...{ sessionId: "chat", principal, connection: "lab", url, record },
    afterMs: end === "left" ? 0 : 20_000,
    now: () => Date.now() + aheadMs,
    onEvent: (event: WaitingEvent) => void events.push(event),
  };
  const wrapped: ReturnType<typeof createWaitingFetch> = createWaitingCalls({
    ...common,
    store,
  }).wrap(server.fetch);
  const body = JSON.stringify(server.request);
  const headers = { "content-type": "application/json", ...server.headers };
  const answer = await wrapped(url, { method: "POST", body, headers }, { toolCallId: "1" }).then(
    async (response) => (await readMessages(response)).find(({ id }) => id === 1),
    (error: McpSessionError) => ({ error: { message: error.message, data: { code: error.code } } }),
  );
  const steps = count();
  const other = createWaitingCalls({ ...common, store: memory });
  const placeholder = waitingCallOf(answer.result);
  server.finish();
  let found = placeholder && (await other.find(placeholder.id));
  for (let looks = 0; looks < 5 && found && !found.result && !found.error; looks += 1) {
    const isAsked = Object.keys(found.call.requests).length > 0 || kind === "question";
    if (isAsked) {
      const responses = Object.keys(found.call.requests).length > 0 ? yes : {};
      await answerWaitingCall(other, placeholder!.id, responses, { fetch: server.fetch });
    } else {
      aheadMs += 10_000;
      await checkWaitingCalls(other, { fetch: server.fetch });
    }
    found = await other.find(placeholder!.id);
  }
  aheadMs += 90_000;
  return {
    answer,
    steps,
    events,
    ledger: server.carriedOut(),
    sent: server.sent(),
    result: found ? (found.result ?? found.error) : answer.result,
    left: await other.list(),
  };
}

/** What a play has told or left that its server contradicts. */
function lies({ answer, ledger, sent, result, left }: Awaited<ReturnType<typeof play>>): string[] {
  const isDone = JSON.stringify(result ?? null).includes("Done.");
  const says = answer.error?.message ?? "";
  return [
    ...(left.length > 0 ? ["is listed, and nobody can settle it"] : []),
    ...(sent > 0 && !(isDone && ledger === 1) ? [`lost, and the model reads: ${says}`] : []),
    ...(sent === 0 && !/[Nn]othing was sent/.test(says) ? [`not sent, but: ${says}`] : []),
    ...(ledger > 1 ? ["carried out twice"] : []),
  ];
}

test.for(cases)("a store that fails once loses no call: %o", async (each) => {
  const whole = await play(each);
  expect(lies(whole)).toEqual([]);
  const faults = Array.from({ length: whole.steps }, (_, at) =>
    moments.map((moment): Fault => ({ at, moment })),
  ).flat();
  const told = await Promise.all(
    faults.map(async (fault) =>
      lies(await play(each, fault)).map((lie) => `${fault.moment} ${fault.at} is done: ${lie}`),
    ),
  );
  expect(told.flat()).toEqual([]);
});

test.for(["late", "first"] as const)(
  "of a call whose store stays away the model reads what is known, and an event says so (record %s)",
  async (record) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const each = { kind: "task of 2026-07-28", record, end: "left" } as const;
    const fault = { at: record === "late" ? 1 : 3, moment: "before", times: Infinity } as const;
    const { answer, events } = await passTime(play(each, fault));
    const message = expect.stringMatching(/Whether it was carried out is unknown/);
    expect(answer.error).toMatchObject({ message, data: { code: "OUTCOME_UNKNOWN" } });
    const told = { type: "store-failed", operation: "keep", tool: "work", error: { message } };
    expect(events.find(({ type }) => type === "store-failed")).toMatchObject(told);
  },
);

test("a call of an agent session that was ended meanwhile is not created again", async () => {
  const memory = createMemoryStore();
  let isEnded = false;
  const put: SessionStore["put"] = async (...record) => {
    const result = await memory.put(...record);
    if (isEnded || !record[0].startsWith("[")) return result;
    isEnded = true;
    // The store answers late: meanwhile somebody ends the chat.
    for (const { key } of (await memory.list({ prefix: "", limit: 100 })).records)
      await memory.delete(key);
    throw new McpSessionError("STORE_FAILED", "No answer came in time.");
  };
  const server = startLedger("task of 2026-07-28", "left");
  const waiting = createWaitingCalls({
    ...{ sessionId: "chat", principal, connection: "lab", url, afterMs: 0 },
    store: { ...memory, put },
  });
  const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(server.fetch);
  const init = { method: "POST", body: JSON.stringify(server.request), headers: server.headers };
  const [answer] = await readMessages(await wrapped(url, init, { toolCallId: "1" }));
  expect(answer.error).toMatchObject({
    message: expect.stringContaining("The agent session was ended"),
    data: { code: "NOT_WAITING" },
  });
  expect((await memory.list({ prefix: "", limit: 100 })).records).toEqual([]);
});
