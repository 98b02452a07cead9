import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { isNewerFormat, isRecord, newerFormat, randomToken } from "@durable-mcp/core/internal";
import type { UIMessage } from "ai";
import type { AgentCall } from "../agent/before-call.ts";
import { type CallEnd, type NotedCall, withCall, withEnd } from "./noted-calls.ts";

/** Who makes an answer, and what is not among the saved messages yet. */
interface AnswerRecord {
  readonly version: 1;
  /** Names the answer. */
  readonly by: string;
  /** Until then its process is alive, in milliseconds since 1970-01-01 UTC. 0: the answer has failed. */
  readonly until: number;
  /** Whether its user wants it to end. */
  readonly isStopped?: boolean | undefined;
  /** What the user has said. */
  readonly messages: readonly UIMessage[];
  /** Those that have begun. */
  readonly calls: readonly NotedCall[];
}

/** An answer as a request finds it. */
export interface FoundAnswer extends AnswerRecord {
  readonly revision: string;
  readonly state: "yes" | "interrupted" | "failed";
}

interface AnswersOptions {
  readonly key: string;
  readonly owner: string;
  readonly now: () => number;
  readonly aliveMs: number;
}

export type OwnAnswer = ReturnType<typeof keepAnswer>;

/** Who makes the answer of a chat: one record, which is compared and set. */
export function createAnswers(store: SessionStore, options: AnswersOptions) {
  const { key, owner, now, aliveMs } = options;
  const find = async (): Promise<FoundAnswer | undefined> => {
    const stored = await store.get(key);
    if (stored === undefined) return undefined;
    const record = parseRecord(stored.value) ?? unreadable;
    const state = record.until === 0 ? "failed" : record.until > now() ? "yes" : "interrupted";
    return { ...record, revision: stored.revision, state };
  };
  const put = async (record: AnswerRecord, revision: string | null) =>
    await store.put(key, record as never, revision, { owner });
  return {
    find,
    /** Has the process that makes the answer end it. */
    async stop(): Promise<void> {
      for (;;) {
        const { revision = null, state, ...record } = (await find()) ?? {};
        if (state !== "yes") return;
        if ((await put({ ...(record as AnswerRecord), isStopped: true }, revision)).ok) return;
      }
    },
    /**
     * @param found what the answer goes on from
     * @param messages of the user, which are not saved
     * @returns `undefined` if another request was faster
     */
    async claim(found: FoundAnswer | undefined, messages: readonly UIMessage[]) {
      const { calls = [], revision = null } = found ?? {};
      const by = randomToken();
      const record = { version: 1, by, until: now() + aliveMs, messages, calls } as const;
      const claimed = await put(record, revision);
      if (!claimed.ok) return undefined;
      return keepAnswer({ store, ...options, put }, record, claimed.revision);
    },
  };
}

interface KeepOptions extends AnswersOptions {
  readonly store: SessionStore;
  readonly put: (record: AnswerRecord, revision: string) => ReturnType<SessionStore["put"]>;
}

const lost = () =>
  new McpSessionError("STATE_CONFLICT", "Another process may make the answer by now.");

/** Shows that this process is alive, as long as it makes the answer. */
function keepAnswer(
  { store, key, now, aliveMs, put }: KeepOptions,
  claimed: AnswerRecord,
  first: string,
) {
  const stopped = new AbortController();
  let record = claimed;
  let revision = first;
  let isLost = false;
  const lose = () => {
    isLost = true;
    stopped.abort(lost());
  };
  const write = async (until = now() + aliveMs): Promise<void> => {
    for (;;) {
      if (isLost) return;
      const written = await put({ ...record, until }, revision);
      if (written.ok) {
        ({ revision } = written);
        // It may have changed meanwhile.
        return void (record = { ...record, until });
      }
      const current = parseRecord(written.current?.value);
      if (current?.by !== record.by) return lose();
      // The user stops it, or a write of ours was done all the same.
      ({ revision } = written.current!);
      record = { ...record, isStopped: current.isStopped };
      if (current.isStopped) stopped.abort(new Error("The user has stopped the answer."));
    }
  };
  const isOurs = async () => {
    await write();
    return !isLost;
  };
  let last: Promise<void> = Promise.resolve();
  /** One write at a time. */
  const inTurn = (work: () => Promise<void>) => (last = last.catch(() => undefined).then(work));
  const signsOfLife = setInterval(() => {
    inTurn(write).catch(() => {
      if (now() >= record.until) lose();
    });
  }, aliveMs / 5);
  return {
    by: claimed.by,
    /** Aborts when the user stops the answer, or another process may make it. */
    signal: stopped.signal,
    /** Whether this process may still save what it has. */
    async isOurs(): Promise<boolean> {
      if (now() > record.until - aliveMs / 2) await inTurn(() => write());
      return !isLost;
    },
    /** Notes a call before it is made. @throws if another process may make the answer */
    async begin(call: AgentCall): Promise<void> {
      record = { ...record, calls: withCall(record.calls, call) };
      await inTurn(() => write());
      if (isLost) throw lost();
    },
    /** Notes how a call has ended, for the next process: at once while another is made, else with the next write. */
    ended(toolCallId: string, end: CallEnd): void {
      const calls = withEnd(record.calls, toolCallId, end, store.maxBytes);
      if (calls === record.calls) return;
      record = { ...record, calls };
      // What is not written now is so with the next sign of life.
      if (calls.some((call) => !call.end)) inTurn(write).catch(() => undefined);
    },
    /** The messages are saved, and the calls but those that are still missing. */
    saved(isMissing: (call: AgentCall) => boolean): void {
      record = { ...record, messages: [], calls: record.calls.filter(isMissing) };
    },
    /** The answer is nobody's any more. A failed one stays, for a page to show. */
    async end(how: "done" | "failed"): Promise<void> {
      clearInterval(signsOfLife);
      await inTurn(async () => {
        if (how === "failed") return await write(0);
        // Again if its user has stopped it a moment too late.
        while (!(await store.delete(key, revision)).ok && (await isOurs())) continue;
      });
    },
  };
}

/** It says no more than that an answer has not ended. */
const unreadable: AnswerRecord = { version: 1, by: "", until: 0, messages: [], calls: [] };

function parseRecord(value: unknown): AnswerRecord | undefined {
  if (isNewerFormat(value)) throw newerFormat("The record of a chat's answer");
  const isOne = isRecord(value) && [value["messages"], value["calls"]].every(Array.isArray);
  return isOne ? (value as unknown as AnswerRecord) : undefined;
}
