import { invalid } from "@durable-mcp/core/internal";
import { McpSessionError, type OfferedTool } from "@durable-mcp/sessions";
import * as agents from "@openai/agents";
import {
  callIn,
  isHeld,
  keyOf,
  makeCall,
  type ModelCall,
  over,
  refusalOf,
  resumeCalls,
  unreadable,
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
  /** Run before a call is made. The runner would run those of a tool after it. */
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
  /** For the agent, and for those below it. They last as long as the run. */
  readonly tools: Tools;
  /** The calls that hold the agent up: `asks` for an approval, or `waits` as `id` of `run.waiting.list()`. */
  readonly held: () => Promise<SavedCall[]>;
  /** Makes a call that a person has approved; before `load`. @throws {McpSessionError} `NOT_WAITING` */
  readonly approve: (callId: string) => Promise<void>;
  /** Takes a call back, or has it not made; `message` is for the model. Before `load`. @throws {McpSessionError} the same */
  readonly withdraw: (callId: string, message?: string) => Promise<void>;
  /** Reads what was saved, with the results of calls that are over. The agent has `tools`. */
  readonly load: (agent: Agent) => Promise<LoadedState>;
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
  const set = (call: SavedCall) => void calls.set(keyOf(call), Promise.resolve(call));
  const held = async () => (await Promise.all(calls.values())).filter(isHeld);
  for (const call of await resumeCalls(run, offered, before?.calls ?? [])) set(call);
  const findHeld = async (callId: string, state?: SavedCall["state"]) => {
    const all = await held();
    const found = all.find(
      (call) => call.callId === callId && (state ?? call.state) === call.state,
    );
    if (found) return found;
    throw new McpSessionError("NOT_WAITING", `No call ${state ?? "waits"} under this callId.`);
  };
  const callsOf = async (items: readonly { rawItem: object }[]) =>
    await Promise.all(items.map(async ({ rawItem }) => await calls.get(keyOf(callIn(rawItem)))));
  // A state cannot be read without the tools that it names.
  const names = [...new Set([...Object.keys(offered), ...(before?.names ?? [])])];
  let isApproved = false;
  return {
    tools: createTools(names, offered, calls, options),
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
    async load(agent) {
      if (before === undefined) return { input: undefined, goesOn: true };
      const [state, refused] = await agents.RunState.fromString(agent, before.state).then(
        (read) => [read] as const,
        (error: unknown) => [undefined, error] as const,
      );
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
      // If its needsApproval merely said no beside a call that waits, the next state could not be read.
      for (const item of ends) {
        const message = refusalOf(item.rawItem);
        if (message === undefined) state.approve(item);
        else state.reject(item, { message });
      }
      // A call that was approved may wait now, which the run saves.
      return { input: state, goesOn: isApproved || ends.length > 0 };
    },
    async save({ state, completed }) {
      await completed;
      const open = state.getInterruptions();
      const found = await callsOf(open);
      const ours = new Set(names.map(agentsNameOf));
      const own = open.flatMap(({ rawItem }, at): SavedCall[] => {
        const call = callIn(rawItem);
        return found[at] ? [found[at]] : ours.has(call.toolName) ? unreadable(call) : [];
      });
      const text = state.toString();
      const used = names.filter((name) => text.includes(JSON.stringify(agentsNameOf(name))));
      const { history } = state;
      return JSON.stringify({ version: 1, state: text, history, calls: own, names: used });
    },
  };
}

/** `needsApproval` makes the call, and is true while it waits; `execute` gives its result. */
function createTools(
  names: readonly string[],
  offered: OfferedTools,
  calls: Calls,
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
        calls.delete(key);
        return call.output;
      },
      errorFunction: null,
    });
  });
}
