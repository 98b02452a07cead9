import type { WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import type { ModelMessage } from "ai";
import type { NetworkMode } from "../faults/tcp-proxy.ts";
import type { ChatUse, Command, CommandResult } from "./application.ts";
import { judgeCall, type JudgedCall, toldOf } from "./judge.ts";
import { type LabServers, principalOf, type WorkPlan } from "./lab-servers.ts";
import type { Fault } from "./points.ts";

/** What a command came to. */
export type Outcome =
  | { readonly type: "done"; readonly result: CommandResult }
  | { readonly type: "failed"; readonly error: string }
  /** `isAtEnd`: it had done all that it does, and nobody has its result. */
  | { readonly type: "killed"; readonly isAtEnd?: boolean }
  /** It stands still, and goes on later. */
  | { readonly type: "frozen" }
  | { readonly type: "hung" };

/** Carries out a command in one of some processes; a second one goes on when a first one stands still. */
export interface Processes {
  readonly carryOut: (order: {
    readonly by: number;
    readonly use: ChatUse;
    readonly command: Command;
    readonly aheadMs: number;
    readonly fault?: Fault | undefined;
    readonly isOlder?: boolean | undefined;
  }) => Promise<Outcome>;
  /** Has the network of the store break, or its file be locked, for so long. */
  readonly disturb: (mode: NetworkMode, ms: number) => Promise<void>;
  /** Lets processes go on that stand still. */
  readonly thaw: () => Promise<void>;
}

/** What a user, a worker of the application or the time does. `by` names a process. */
export type Action = { readonly by: number; readonly fault?: Fault; readonly isOlder?: boolean } & (
  | { readonly do: "write"; readonly calls: number }
  /** The page of a failed step sends its messages again; its model gives its calls other ids, or the same. */
  | { readonly do: "again"; readonly isRenamed: boolean }
  | { readonly do: "look" | "due" | "withdraw" | "sign-in" }
  | { readonly do: "answer"; readonly isDeclined: boolean; readonly isTwice: boolean }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "disturb"; readonly mode: NetworkMode; readonly ms: number }
);

export interface ChatPlan {
  readonly use: Omit<ChatUse, "url">;
  readonly work: WorkPlan;
  readonly actions: readonly Action[];
  readonly expects?: JudgedCall["expects"];
}

const dayMs = 86_400_000;
/** What is due is looked at; then questions expire. */
const settling = [10_000, 10_000, 10_000, 10_000, 70_000, 10_000, 8 * dayMs, 8 * dayMs, 10_000];

interface CallOfChat {
  readonly topic: string;
  toolCallId: string;
  told: string | undefined;
  isLost: boolean;
  /** Whether its step had ended when its messages were lost. */
  isOfEnded: boolean;
  /** Whether a model has made it again after such a step: then it is another call. */
  isAnother: boolean;
}

const ofNew = { isLost: false, isOfEnded: false, isAnother: false };

type Given = Pick<Action, "by"> & Partial<Action>;
type Life = ReturnType<typeof beginChat>;

/** Lives through a plan, brings the chat to its end without faults, and says what must not be. */
export async function liveThrough(
  plan: ChatPlan,
  servers: LabServers,
  processes: Processes,
): Promise<string[]> {
  const life = beginChat(plan, servers, processes);
  if (plan.use.kind === "sign-in") await life.signIn();
  for (const action of plan.actions) await act(life, action);
  await processes.thaw();
  await lookAsOperator(life);
  await settle(life);
  // The fault of a single one may come as late as here.
  const first = await life.write(0, { by: 0 });
  const last = first.type === "done" ? first : await life.write(0, { by: 0 });
  if (last.type !== "done") life.fault(`the chat does not go on: ${JSON.stringify(last)}`);
  else if (!JSON.stringify(life.messages().slice(-1)).includes("Seen."))
    life.fault(`the user's last message has no answer`);
  return [...life.faults, ...life.calls.flatMap((call) => judgeCall(life.judged(call)))];
}

/** What a user and an application do in a chat. */
function beginChat(
  { use: own, work, expects }: ChatPlan,
  servers: LabServers,
  processes: Processes,
) {
  const { chat, kind } = own;
  const use: ChatUse = { ...own, url: servers.urlOf(kind, chat) };
  const calls: CallOfChat[] = [];
  const answers: (string | undefined)[] = [];
  const faults: string[] = [];
  const fault = (text: string) => void faults.push(`${chat}: ${text}`);
  let messages: readonly ModelMessage[] = [];
  /** The calls of a step that its process did not bring to its end. */
  let unfinished: readonly CallOfChat[] = [];
  let aheadMs = 0;
  let turns = 0;

  const order = async (command: Command, { by, fault: met, isOlder }: Given) => {
    const outcome = await processes.carryOut({ by, use, command, aheadMs, fault: met, isOlder });
    if (outcome.type === "hung") fault(`${command.do} did not end`);
    return outcome;
  };
  /** A step of the chat. @param made the calls of its model */
  const step = async (made: readonly CallOfChat[], given: Given): Promise<Outcome> => {
    const ids = Object.fromEntries(made.map(({ toolCallId, topic }) => [toolCallId, topic]));
    // What a failed step said of a call that was not carried out by then is no word about this attempt.
    for (const call of made) if (servers.effects(call.topic) === 0) call.told = undefined;
    const outcome = await order({ do: "step", messages, calls: ids }, given);
    if (outcome.type === "done") messages = outcome.result as readonly ModelMessage[];
    // Beside a process that goes on later, the same step would be another tab's.
    unfinished = outcome.type === "done" || outcome.type === "frozen" ? [] : made;
    for (const call of made) {
      if (outcome.type === "failed") call.told = outcome.error;
      call.isLost = ["killed", "frozen", "hung"].includes(outcome.type);
      call.isOfEnded = outcome.type === "killed" && outcome.isAtEnd === true;
    }
    // A step that did not end gave no messages: those of the step before say what was so then.
    for (const { topic, toolCallId } of outcome.type === "done" ? calls : []) {
      const told = toldOf(messages, toolCallId) ?? "";
      if (/not done yet.*not carried out/.test(told) && servers.effects(topic) > 0)
        fault(`${topic} was carried out, and its placeholder says that it was not`);
    }
    return outcome;
  };
  const waiting = async (by: number): Promise<readonly WaitingEntry[]> => {
    const outcome = await order({ do: "waiting" }, { by });
    return outcome.type === "done" ? (outcome.result as readonly WaitingEntry[]) : [];
  };
  return {
    ...{ use, calls, answers, faults, fault, order, step, waiting },
    messages: () => messages,
    unfinished: () => unfinished,
    pass: (ms: number) => void (aheadMs += ms),
    signIn: () => servers.signIns.signIn(principalOf(chat), use.url),
    disturb: processes.disturb,
    /** A message of the user, after which the model makes so many calls. */
    async write(count: number, given: Given): Promise<Outcome> {
      turns += 1;
      messages = [...messages, { role: "user", content: `Turn ${turns}.` }];
      const made = Array.from({ length: count }, (_, at): CallOfChat => {
        const topic = `${chat}-${turns}-${at}`;
        servers.plans.set(topic, work);
        return { topic, toolCallId: `call-${topic}`, told: undefined, ...ofNew };
      });
      calls.push(...made);
      return await step(made, given);
    },
    judged: ({ topic, toolCallId, told, isLost, isAnother }: CallOfChat): JudgedCall => ({
      ...{ topic, isLost, isAnother, answers, expects, asks: work.asks || kind === "question" },
      isMade: JSON.stringify(messages).includes(`"${toolCallId}"`),
      effects: servers.effects(topic),
      told: toldOf(messages, toolCallId) ?? told,
    }),
  };
}

async function act(life: Life, action: Action): Promise<void> {
  const { use, order } = life;
  if (action.do === "write") await life.write(action.calls, action);
  else if (action.do === "answer") await answer(life, action);
  else if (action.do === "disturb") await life.disturb(action.mode, action.ms);
  else if (action.do === "pass") life.pass(action.ms);
  else if (action.do === "sign-in") {
    if (use.kind === "sign-in") await life.signIn();
  } else if (action.do === "withdraw") {
    const [call] = await life.waiting(action.by);
    if (call?.id) await order({ do: "withdraw", id: call.id }, action);
  } else if (action.do === "again") {
    const made = life.unfinished();
    // Without a record written first it would make its calls once more.
    if (made.length === 0 || use.record === "late") return;
    for (const call of action.isRenamed ? made : []) {
      call.toolCallId += "-again";
      call.isAnother = call.isOfEnded;
    }
    await life.step(made, action);
  } else await order({ do: action.do }, action);
}

/** A person answers the first question that is listed; perhaps another page of theirs does so, too. */
async function answer(
  { answers, order, waiting }: Life,
  action: Extract<Action, { do: "answer" }>,
): Promise<void> {
  const listed = await waiting(action.by);
  const call = listed.find(({ type }) => type === "question") as WaitingCall | undefined;
  if (call?.state !== "waiting") return;
  const send = async (year: string | undefined, given: Given) => {
    const outcome = await order({ do: "answer", call, year }, given);
    // Whoever was refused clearly has answered nothing.
    const isRefused =
      outcome.type === "failed" && /Nothing was sent|NOT_WAITING/.test(outcome.error);
    if (!isRefused) answers.push(year);
  };
  const count = answers.length;
  await Promise.all([
    send(action.isDeclined ? undefined : `y${count}`, action),
    action.isTwice && send(`y${count + 1}`, { by: action.by + 1 }),
  ]);
}

/** What its server keeps is due for whoever knows no chat, when each claim is over. */
async function lookAsOperator({ order, waiting, pass, fault }: Life): Promise<void> {
  const looked = new Set<string>();
  for (const ms of [120_000, 10_000]) {
    pass(ms);
    const outcome = await order({ do: "due" }, { by: 1 });
    if (outcome.type !== "done") continue;
    for (const { id } of outcome.result as readonly WaitingEntry[]) if (id) looked.add(id);
  }
  for (const { id, type } of await waiting(1))
    if (id && (type === "task" || type === "stream") && !looked.has(id))
      fault(`a ${type} waits, and is never due`);
}

async function settle(life: Life): Promise<void> {
  for (const ms of settling) {
    life.pass(ms);
    for (const action of [
      { do: "sign-in", by: 0 },
      { do: "due", by: 1 },
      { do: "again", by: 0, isRenamed: false },
      { do: "answer", by: 0, isDeclined: false, isTwice: false },
      { do: "look", by: 1 },
      { do: "write", by: 0, calls: 0 },
    ] as const)
      await act(life, action);
    const open = (await life.waiting(1)).filter(({ id }) => id !== undefined);
    if (open.length === 0 && !JSON.stringify(life.messages()).includes("not done yet")) return;
  }
  const open = (await life.waiting(1)).map(({ type }) => type);
  life.fault(`nobody could settle what is listed: ${open.join()}`);
}
