import type { ConnectionEvent } from "@durable-mcp/ai-sdk";
import type { Call, Chat, ChatOptions, LogEntry, Outcome, StepPlan, StepReport } from "./chat.ts";
import { createOpener, listenToConsole, type Opener, type OpenStep } from "./open-step.ts";
import { documentedWaits, type Phase, shortTimes } from "./waits.ts";

/** After this time, or a little after a longer limit, nobody waits any more, in milliseconds. */
const hungMs = 10_000;
const hung = Symbol("hung");

function reasonOf(outcome: Outcome): string {
  if (outcome.type === "failed") return String(outcome.error);
  if (outcome.type !== "no tool") return outcome.type;
  const said = outcome.events.map((event) => ("error" in event ? event.error.message : event.type));
  return `no tool (${said.join(", ")})`;
}

type Timed = <T>(phase: Phase, work: () => Promise<T>) => Promise<T | typeof hung>;

export function createChat(options: ChatOptions): Chat {
  const limits = { ...documentedWaits({ ...shortTimes, ...options.times }), ...options.waits };
  const chat: Chat = {
    options,
    ...{ calls: [], log: [], waits: [], faults: [], notes: undefined },
    async step(plan) {
      const report = await runStep(chat, opener, timed, plan);
      if (plan.isHealthy) chat.faults.push(...unanswered(chat.calls, plan.calls));
      return report;
    },
  };
  const opener = createOpener(options);
  const timed: Timed = async (phase, work) => {
    const startedAt = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const giveUp = new Promise<typeof hung>((resolve) => {
      timer = setTimeout(resolve, Math.max(hungMs, limits[phase] + 2_000), hung);
    });
    try {
      return await Promise.race([work(), giveUp]);
    } finally {
      clearTimeout(timer);
      chat.waits.push({ phase, ms: performance.now() - startedAt, limitMs: limits[phase] });
    }
  };
  return chat;
}

function unanswered(calls: readonly Call[], count: number): string[] {
  return calls.slice(-count).flatMap(({ text, outcome }) => {
    if (outcome.type === "answered") return [];
    return [`did not go on: ${text}, with nothing wrong any more: ${reasonOf(outcome)}`];
  });
}

async function runStep(
  chat: Chat,
  opener: Opener,
  timed: Timed,
  { calls, atOnce = false, on, opened, ending, reads = false }: StepPlan,
): Promise<StepReport> {
  const events: ConnectionEvent[] = [];
  const step = (chat.calls.at(-1)?.step ?? 0) + 1;
  const first = chat.calls.length;
  const planned = Array.from({ length: calls }, (_, index) => ({
    text: `<${chat.options.id} ${first + index}>`,
    tool: (first + index) % 3 === 2 ? ("echo" as const) : ("add_note" as const),
    step,
  }));
  const onEvent = (event: ConnectionEvent) => {
    if (event.type === "operation" || event.type === "step-ended") return;
    events.push(event);
    chat.log.push({ type: "event", event: event.type });
  };

  const said = chat.options.isDeaf ? listenToConsole(onEvent) : undefined;
  let open: OpenStep | typeof hung;
  try {
    open = await timed("open", () => opener(said ? undefined : onEvent, on));
  } catch (error) {
    chat.calls.push(
      ...planned.map((call) => ({ ...call, outcome: { type: "failed", error } as const })),
    );
    return { events, refused: error };
  } finally {
    said?.stop();
  }
  if (open === hung) {
    chat.calls.push(...planned.map((call) => ({ ...call, outcome: { type: "hung" } as const })));
    return { events };
  }
  const { registry, tools, end } = open;
  await opened?.(registry);
  const make = async (call: (typeof planned)[number]) => {
    const outcome = await callTool(tools, call, events, timed, chat.log);
    chat.calls.push({ ...call, outcome });
  };
  if (atOnce) await Promise.all(planned.map(make));
  else for (const call of planned) await make(call);
  if (reads) chat.notes = await readNotes(tools);
  await ending?.();
  try {
    if ((await timed("end", end)) === hung) chat.faults.push("the end of a step hung");
  } catch (error) {
    chat.faults.push(`the end of a step rejected: ${String(error)}`);
  }
  return { events };
}

type Execute = (input: object, options: object) => Promise<CallResult>;

interface CallResult {
  readonly content: readonly { readonly text?: string }[];
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

function toolOf(tools: object, name: string): Execute | undefined {
  return (tools as Record<string, { execute: Execute } | undefined>)[`notes__${name}`]?.execute;
}

async function callTool(
  tools: object,
  { tool, text }: Pick<Call, "tool" | "text">,
  events: readonly ConnectionEvent[],
  timed: Timed,
  log: LogEntry[],
): Promise<Outcome> {
  const execute = toolOf(tools, tool);
  if (execute === undefined) return { type: "no tool", events };
  try {
    const result = await timed("call", () =>
      execute({ text }, { toolCallId: text, messages: [], context: {} }),
    );
    if (result === hung) return { type: "hung" };
    const answer = result.content[0]?.text ?? "";
    if (result.isError) return { type: "failed", error: new Error(`tool error: ${answer}`) };
    const { _meta: meta } = result;
    const isTold = meta?.["durable-mcp/sessionReplaced"] === true;
    log.push({ type: "answered", note: tool === "add_note" ? text : undefined, isTold });
    return { type: "answered", answer };
  } catch (error) {
    return { type: "failed", error };
  }
}

async function readNotes(tools: object): Promise<string[] | undefined> {
  try {
    const result = await toolOf(tools, "list_notes")?.({}, { toolCallId: "read", messages: [] });
    return result && (result.content[0]?.text ?? "").split("\n").filter((note) => note !== "");
  } catch {
    return undefined;
  }
}
