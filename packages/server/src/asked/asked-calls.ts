import type { Answer, RequestId } from "../base/mcp-types.ts";
import { commitRows } from "../records/commit-rows.ts";
import { editValue } from "../records/edit-value.ts";
import type { CallHold } from "../records/replica.ts";
import { type SessionRecord, waitingCalls } from "../records/session-record.ts";
import type { StoreContext } from "../records/store-context.ts";
import {
  type AskedQuestion,
  type ClaimedCall,
  findQuestion,
  parseQuestionRecord,
  questionKey,
  type QuestionRecord,
} from "../records/stored-question.ts";
import type { StoredSession } from "../records/stored-session.ts";
import { answerKey, newCallRow, partKey } from "../streams/call-record.ts";
import type { CheckContent } from "./legacy-shim.ts";
import type { QuestionName } from "./question-ids.ts";
import { type ReadAnswer, readAnswer } from "./read-answer.ts";

/** The calls that wait for their clients, in the store: any replica takes answers and cancellations. */
export interface AskedCalls {
  /**
   * Stores an answer. The last one that was missing, or one that cannot be used, claims the call.
   * One at a time for each session in a process: two would let go of each other's hold on a call.
   * @returns the call, for the one process that claimed it. An answer that nobody waits for is ignored
   */
  answer(
    stored: StoredSession,
    name: QuestionName,
    message: Answer,
    check: CheckContent | undefined,
  ): Promise<ClaimedCall | undefined>;
  /** @returns whether the request waited; it gets no answer, and its client's streams end */
  cancel(stored: StoredSession, requestId: RequestId): Promise<boolean>;
}

export function createAskedCalls(context: StoreContext): AskedCalls {
  const { settings, store, signals, topicOf } = context;
  const waitOf = ({ record }: StoredSession, isIt: (wait: Wait) => boolean) =>
    waitingCalls(record, settings.now()).find(isIt);

  /** The call waits no more. A client that comes back is not asked again. */
  async function tidy(stored: StoredSession, call: string, { parts }: QuestionRecord) {
    const keys = Array.from({ length: parts }, (_, part) =>
      partKey(context, stored.hash, call, part),
    );
    for (const key of keys) await store.delete(key);
    const edit = (record: SessionRecord) => {
      const waiting = waitingCalls(record, settings.now());
      return { ...record, questions: waiting.filter((other) => other.call !== call) };
    };
    await stored.write({ edit });
  }

  return {
    answer: async (stored, name, message, check) => {
      const wait = waitOf(stored, ({ call }) => call === name.call);
      if (!wait) return undefined;
      const claimed = await claim(context, stored, { ...name, ...wait }, (question, method) =>
        readAnswer(question, method, message, check),
      );
      // What is left of the wait ends by itself; the store has emitted its failure.
      if (claimed) await tidy(stored, claimed.call, claimed.record).catch(() => {});
      return claimed;
    },
    cancel: async (stored, requestId) => {
      const { hash } = stored;
      const wait = waitOf(stored, ({ id }) => id === requestId);
      const record = wait && (await findQuestion(context, hash, wait.call));
      if (!record || record.claimed) return false;
      const key = questionKey(context, hash, wait.call, record.round);
      const row = await store.get(key);
      if (!row || parseQuestionRecord(row.value)?.claimed) return false;
      if (!(await store.delete(key, row.revision)).ok) return false;
      await endUnanswered(context, stored, wait.call, []);
      await tidy(stored, wait.call, record);
      signals.send(topicOf(hash));
      return true;
    },
  };
}

type Wait = NonNullable<SessionRecord["questions"]>[number];

/** Stores an answer, and claims its call if it is the last one that is needed. */
async function claim(
  context: StoreContext,
  { hash, record: { owner } }: StoredSession,
  { call, round, index, until }: QuestionName & Wait,
  read: (question: AskedQuestion, method: string) => ReadAnswer,
): Promise<ClaimedCall | undefined> {
  const { store, replica } = context;
  let hold: CallHold | undefined;
  let failure: string | undefined;
  let claimed: QuestionRecord | undefined;
  const change = async (record: QuestionRecord) => {
    claimed = undefined;
    const question = record.questions[index];
    if (!question || question.answer || record.claimed) return undefined;
    const given = read(question, record.method);
    ({ failure } = given);
    const questions = record.questions.with(index, { ...question, answer: given.answer });
    const next = { ...record, questions };
    if (failure === undefined && questions.some(({ answer }) => !answer)) return next;
    // Held before the claim is stored: others look for the process that it names.
    hold ??= await replica.hold(call);
    const { renewals } = hold;
    claimed = { ...next, claimed: { replica: replica.token, renewals } };
    return claimed;
  };
  try {
    await editValue<QuestionRecord | undefined>(store, questionKey(context, hash, call, round), {
      read: parseQuestionRecord,
      change,
      put: () => ({ owner, expiresAt: until }),
    });
  } catch (error) {
    hold?.release();
    throw error;
  }
  if (claimed && hold) return { call, record: claimed, hold, failure };
  hold?.release();
  return undefined;
}

/** Ends the stored stream of a call that was cancelled; nobody waits for an answer. */
export async function endUnanswered(
  context: Pick<StoreContext, "store" | "settings">,
  { hash, record: { owner } }: StoredSession,
  call: string,
  keys: readonly string[],
): Promise<void> {
  const end = newCallRow(
    context,
    answerKey(context, hash, call),
    { version: 1, events: [] },
    owner,
  );
  const deletes = keys.map((key) => ({ type: "delete", key }) as const);
  await commitRows(context.store, [end, ...deletes]);
}
