import { invalid, isRecord } from "@durable-mcp/core/internal";
import { McpSessionError, type OfferedTool } from "@durable-mcp/sessions";
import * as agents from "@openai/agents";
import {
  callIn,
  isHeld,
  keyOf,
  makeCall,
  type ModelCall,
  noObject,
  over,
  resumeCalls,
} from "./agent-calls.ts";
import type { AgentsRun, OfferedTools } from "./agents-sessions.ts";
import { agentsNameOf, inputOf, parseSavedRun, type SavedCall } from "./saved-run.ts";

type Agent = agents.Agent<any, any>;
type Context = agents.RunContext<any>;
type State = agents.RunState<any, any>;
type Approval = (call: ModelCall, context: Context) => boolean | Promise<boolean>;
/** The calls of a step, by `keyOf`: those that were saved, as they are now, and those that its agents make. */
type Calls = Map<string, Promise<SavedCall>>;
type Tools = agents.FunctionTool<any, any, any>[];

/** Options of `bindAgentsTools`. */
export interface BindOptions {
  /** Whether a person has to approve a call, beside what `approval` of its connection says. @default no */
  readonly approval?: Approval | undefined;
  /** Run before a call is made; those of a tool come after it. Of agents in tools side by side, `agent` may be another. */
  readonly inputGuardrails?: readonly agents.ToolInputGuardrailDefinition<any>[] | undefined;
}

/** What a step begins with. */
export interface LoadedState {
  /** For `run`: the state; the history, if its run is over or it was refused; `undefined` if nothing was saved. */
  readonly input: State | agents.AgentInputItem[] | undefined;
  /** Whether the agent has something to do: nothing was saved, or a call was approved, or is over. */
  readonly goesOn: boolean;
  /** Why OpenAI Agents refused the state, such as that of another release. */
  readonly refused?: unknown;
}

/** The tools of a run, and the state of its agent between two steps. */
export interface AgentsTools {
  /** For the agent, and for those below it. They last as long as the run. Calls of one id, tool and input wait as one. */
  readonly tools: Tools;
  /** The calls that hold the agent up: `asks` for an approval, or `waits` as `id` of `run.waiting.list()`. */
  readonly held: () => Promise<SavedCall[]>;
  /** Makes a call that a person has approved; before `load`. @throws {McpSessionError} `NOT_WAITING` */
  readonly approve: (callId: string) => Promise<void>;
  /** Takes a call back, or has it not made; `message` is for the model. Before `load`. @throws {McpSessionError} the same */
  readonly withdraw: (callId: string, message?: string) => Promise<void>;
  /** Reads what was saved, with the results of calls that are over. The agent has `tools`; `context` is else a copy. */
  readonly load: (agent: Agent, context?: Context) => Promise<LoadedState>;
  /** Gives the conversation, its state, and what holds it up, as a text, without secrets of sessions. */
  readonly save: (result: { state: State; completed?: Promise<void> }) => Promise<string>;
}

/**
 * Makes the tools of a run for agents of the OpenAI Agents SDK. A call that waits stops the agent as an interruption,
 * and has its result in whatever process goes on.
 *
 * @param saved what `save` gave in the step before
 * @throws {McpSessionError} `CONNECTION_INVALID` for another text; `STORE_FAILED`; as `run.tools()`
 */
export async function bindAgentsTools(
  run: AgentsRun,
  saved?: string,
  options: BindOptions = {},
): Promise<AgentsTools> {
  const before = saved === undefined ? undefined : parseSavedRun(saved);
  // A saved name may be that of what every object has.
  const offered = { __proto__: null, ...(await run.tools()) } as unknown as OfferedTools;
  const calls: Calls = new Map();
  const owed: string[] = [];
  const set = (call: SavedCall) => void calls.set(keyOf(call), Promise.resolve(call));
  const held = async () => (await Promise.all(calls.values())).filter(isHeld);
  for (const call of await resumeCalls(run, offered, before?.calls ?? [])) set(call);
  const findHeld = async (id: string, state?: "asks") => {
    const isIt = (call: SavedCall) => call.callId === id && (state ?? call.state) === call.state;
    const found = (await held()).find(isIt);
    if (found) return found;
    throw new McpSessionError("NOT_WAITING", `No call ${state ?? "waits"} under this callId.`);
  };
  // A state cannot be read without the tools that it names.
  const names = [...new Set([...Object.keys(offered), ...(before?.names ?? [])])];
  const ours = new Set(names.map(agentsNameOf));
  /** The calls of interruptions. OpenAI Agents holds one whose arguments are no object without asking its tool. */
  const callsOf = async (items: readonly { rawItem: object }[]) => {
    const found = items.map(async ({ rawItem }) => {
      const call = callIn(rawItem);
      const unreadable = ours.has(call.toolName) && !isRecord(call.input);
      return (await calls.get(keyOf(call))) ?? (unreadable ? over(call, noObject) : undefined);
    });
    return await Promise.all(found);
  };
  let isApproved = false;
  return {
    tools: createTools(names, offered, calls, owed, options),
    held,
    async approve(callId) {
      const call = await findHeld(callId, "asks");
      set(await makeCall(offered[call.toolName], call));
      isApproved = true;
    },
    async withdraw(callId, message) {
      const call = await findHeld(callId);
      if (call.state === "waits") await run.waiting.withdraw(call.id!);
      const [end] = await resumeCalls(run, offered, [call]);
      set(over(call, message ?? end!.output ?? "A person refused it. It was not made."));
    },
    async load(agent, context) {
      if (before === undefined) return { input: undefined, goesOn: true };
      const reading = context
        ? agents.RunState.fromStringWithContext(agent, before.state, context)
        : agents.RunState.fromString(agent, before.state);
      const [read] = await Promise.allSettled([reading]);
      const { value: state, reason: refused }: { value?: State; reason?: unknown } = read;
      const open = state?.getInterruptions() ?? [];
      if (!state || open.length === 0) {
        const own = await Promise.all(calls.values());
        const goesOn = own.length > 0 && !own.some(isHeld);
        // They are no calls of the new run.
        if (goesOn) calls.clear();
        return { input: inputOf(before, own), goesOn, refused };
      }
      const found = await callsOf(open);
      const ends = open.filter((_, at) => found[at]?.state === "over");
      owed.push(...ends.flatMap((item) => settle(state, item)));
      // A call that was approved may wait now, which the run saves.
      return { input: state, goesOn: isApproved || ends.length > 0 };
    },
    async save({ state, completed }) {
      await completed;
      const open = state.getInterruptions();
      const own = (await callsOf(open)).filter((call) => call !== undefined);
      const text = state.toString();
      const used = names.filter((name) => text.includes(JSON.stringify(agentsNameOf(name))));
      const { history } = state;
      return JSON.stringify({ version: 1, state: text, history, calls: own, names: used });
    },
  };
}

/**
 * Has a call go on that is over. If its `needsApproval` merely said no beside a call that waits, the next state could
 * not be read. @returns its key if its result will be asked for
 */
function settle(state: State, item: agents.RunToolApprovalItem): string[] {
  const call = callIn(item.rawItem);
  const isMade = isRecord(call.input);
  // Of what is no JSON, OpenAI Agents tells the model.
  if (isMade || call.input === item.arguments) state.approve(item);
  else state.reject(item, { message: noObject });
  return isMade ? [keyOf(call)] : [];
}

/** `needsApproval` makes the call, and is true while it waits; `execute` gives its result. */
function createTools(
  names: readonly string[],
  offered: OfferedTools,
  calls: Calls,
  owed: string[],
  { approval, inputGuardrails = [] }: BindOptions,
): Tools {
  const agentOf = new WeakMap<Context, Agent>();
  const make = async (tool: OfferedTool | undefined, call: ModelCall, context: Context) => {
    const { toolName: name, callId, input } = call;
    const verdict = await agents.runToolInputGuardrails({
      ...{ guardrails: [...inputGuardrails], context, agent: agentOf.get(context)! },
      toolCall: { type: "function_call", name, callId, arguments: JSON.stringify(input) },
    });
    if (verdict.type === "reject") return over(call, verdict.message);
    const ask = tool?.needsApproval;
    const isAsked = typeof ask === "function" ? await ask(input, { toolCallId: callId }) : ask;
    if (isAsked || (await approval?.(call, context))) return { ...call, state: "asks" } as const;
    return await makeCall(tool, call);
  };
  return names.map((toolName) => {
    const own = offered[toolName];
    return agents.tool({
      ...{ name: toolName, description: own?.listed.description ?? "", strict: false },
      parameters: { type: "object", properties: {}, required: [], ...own?.inputSchema } as never,
      async isEnabled({ runContext, agent }) {
        agentOf.set(runContext, agent);
        return own !== undefined || calls.size > 0;
      },
      async needsApproval(context, input, callId = "") {
        const call = { toolName, callId, input };
        // The runner asks more than once.
        const made = calls.get(keyOf(call)) ?? make(own, call, context);
        calls.set(keyOf(call), made);
        return isHeld(await made);
      },
      async execute(_input, _context, details) {
        const key = keyOf(callIn(details!.toolCall!));
        const call = await calls.get(key);
        if (call === undefined || isHeld(call))
          throw invalid(
            "approve",
            `Approve ${toolName} by approve of bindAgentsTools. It was not made.`,
          );
        // Its result is in the state now, and another call may have its id.
        if (owed.includes(key)) owed.splice(owed.indexOf(key), 1);
        if (!owed.includes(key)) calls.delete(key);
        return call.output;
      },
      errorFunction: null,
    });
  });
}
