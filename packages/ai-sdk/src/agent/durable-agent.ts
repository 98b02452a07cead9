import type { Agent, FlexibleSchema, OutputInterface, ToolLoopAgentSettings, ToolSet } from "ai";
import {
  type AgentInTool,
  beginAgent,
  checkOptions,
  currentToolCall,
  runInternalsOf,
} from "@durable-mcp/sessions/internal";
import type { ConnectionToolSet } from "../tool-set/connection-tool-set.ts";
import type { Connections, SessionUse } from "@durable-mcp/sessions";
import type { OpenRun } from "../face/connection-run.ts";
import type { DurableSessions } from "../face/durable-sessions.ts";
import {
  type AgentSessions,
  type DurableAgentCallOptions,
  type DurableAgentSession,
  openSchema,
  splitCallOptions,
  splitSessions,
} from "./agent-sessions.ts";
import { chatKey, type ChatUse, tellBeforeCalls } from "./before-call.ts";
import { bindTools } from "../messages/bind-tools.ts";
import {
  silentStep,
  stopWhenWaiting,
  type StopWhenWaitingOptions,
  type WhileWaiting,
} from "../messages/stop-when-waiting.ts";
import { newsMessages } from "../messages/news.ts";
import { lastSpeaker } from "../messages/placeholders.ts";
import type { OpenDurableAgent, Resuming, RuntimeContext } from "./open-durable-agent.ts";

/** The tools of a durable agent with a known type: its own, and the tools of connections with `schemas`. */
export type DurableAgentTools<CONNECTIONS extends Connections, TOOLS extends ToolSet> = AsToolSet<
  // An index signature beside names would take their types away.
  string extends keyof ConnectionToolSet<CONNECTIONS>
    ? [keyof TOOLS] extends [never]
      ? ToolSet
      : TOOLS
    : [keyof TOOLS] extends [never]
      ? ConnectionToolSet<CONNECTIONS>
      : Omit<ConnectionToolSet<CONNECTIONS>, keyof TOOLS> & TOOLS
>;

type AsToolSet<TOOLS> = TOOLS extends ToolSet ? TOOLS : never;

/**
 * The settings of `ToolLoopAgent`, and the sessions: either `connections`, `store` and the other
 * options of `createDurableSessions`, or `sessions`. `telemetry` is the loop's. The connections'
 * telemetry is an option of `createDurableSessions`.
 */
export type DurableAgentSettings<
  CONNECTIONS extends Connections,
  TOOLS extends ToolSet,
  CALL_OPTIONS,
  RUNTIME_CONTEXT extends RuntimeContext,
  OUTPUT extends OutputInterface,
> = Omit<
  ToolLoopAgentSettings<
    DurableAgentCallOptions<CALL_OPTIONS>,
    DurableAgentTools<CONNECTIONS, TOOLS>,
    RUNTIME_CONTEXT,
    OUTPUT
  >,
  "tools" | "callOptionsSchema" | "runtimeContext" | "output"
> &
  AgentSessions<CONNECTIONS> & {
    /** The agent's own tools. They replace a connection's tools of the same name. @default none */
    tools?: TOOLS;
    /** The schema of the agent's own call options, without `sessionId` and `principal`. */
    callOptionsSchema?: FlexibleSchema<CALL_OPTIONS>;
    runtimeContext?: RUNTIME_CONTEXT;
    output?: OUTPUT;
    /** What a call does if a connection is down, as of `sessions.open`. @default "omit" */
    onUnavailable?: "omit" | "throw" | undefined;
    /**
     * What happens when the user writes while a call waits: `"reply"`, the model answers; `"hold"`, a text says that
     * the call waits; `"withdraw"`, the call is taken back first. @default "reply"
     */
    whileWaiting?: WhileWaiting | undefined;
  };

/** An AI SDK agent with the tools of MCP sessions that last from call to call. */
export interface DurableAgent<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = ToolSet,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
  CONNECTIONS extends Connections = Connections,
> extends Agent<DurableAgentCallOptions<CALL_OPTIONS>, TOOLS, RUNTIME_CONTEXT, OUTPUT> {
  /** The agent's sessions: look at them, end them, and call `shutdown` at the end of the process. */
  readonly sessions: DurableSessions<CONNECTIONS>;
  /** The agent's own tools. The connections' tools are only known in an open session: `open`. */
  readonly tools: TOOLS;
  /**
   * Opens an agent session and returns an agent with its tools, for several calls or for helpers that
   * read `agent.tools`. Dispose of it. A running stream keeps the session until the stream has ended.
   *
   * @param session.abortSignal ends handshakes and listings, and the hold of streams
   * @throws {McpSessionError} as `open` of the sessions
   */
  open(
    session: DurableAgentSession & Pick<SessionUse, "abortSignal">,
  ): Promise<OpenDurableAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>>;
}

/**
 * Creates an AI SDK agent on durable sessions. Each `generate` and `stream` takes
 * `options: { sessionId, principal }`, opens that agent session, runs a `ToolLoopAgent` with its
 * tools, and closes it once, after success and after failure. A stream that nobody reads is read to its
 * end in the background, unless its `abortSignal` aborts.
 *
 * Where a call waits (`waiting: true`), the loop ends, as with `stopWhenWaiting`: the text is empty,
 * `finishReason` is `"other"`, and `rawFinishReason` is `"waiting"`. A later call of the agent first puts the results in
 * their places in its messages. As long as one still waits, the model is only called when the user has written
 * (`whileWaiting`). In a tool of another durable agent, it goes on with its own messages when that tool does.
 *
 * @example
 * const agent = createDurableAgent({ connections, store, model, instructions: "Be brief." });
 * await agent.generate({ prompt, options: { sessionId: chatId, principal } });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createDurableAgent<
  CONNECTIONS extends Connections,
  TOOLS extends ToolSet = {},
  CALL_OPTIONS = never,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
>(
  given: DurableAgentSettings<CONNECTIONS, TOOLS, CALL_OPTIONS, RUNTIME_CONTEXT, OUTPUT>,
): DurableAgent<
  CALL_OPTIONS,
  DurableAgentTools<CONNECTIONS, TOOLS>,
  RUNTIME_CONTEXT,
  OUTPUT,
  CONNECTIONS
> {
  type Tools = DurableAgentTools<CONNECTIONS, TOOLS>;
  const { sessions, settings, onUnavailable } = splitSessions<CONNECTIONS, typeof given>(given);
  const { id, tools: ownTools, prepareCall, whileWaiting, ...loopSettings } = settings;

  const open = async (use: Use) => {
    const { sessionId, [chatKey]: inChat, ...how } = checkOptions(openSchema, use);
    // AI SDK is a third of what this package loads: only where an agent runs.
    const loop = await import("./open-durable-agent.ts");
    const run: OpenRun<any> = await sessions.open(sessionId, {
      ...how,
      onUnavailable: how.onUnavailable ?? onUnavailable,
    });
    const offered = await run.tools();
    const session: DurableAgentSession = { sessionId, principal: how.principal };
    const { scope, tellUnmatched } = await runInternalsOf(run)(async (of) => of);
    tellUnmatched(settings.activeTools, { ...offered, ...ownTools });
    const bound = ownTools && bindTools(scope, ownTools);
    const tools = tellBeforeCalls({ ...offered, ...bound }, inChat);
    // The loop agent only knows the agent's own options, but the application gets all of them.
    const prepare =
      prepareCall &&
      (({ options, ...call }: { options?: CALL_OPTIONS }) =>
        prepareCall({ ...call, options: { ...options, ...session } } as never));
    const resuming = { waiting: run.waiting, tools, whileWaiting, inChat, landing: [] };
    return new loop.OpenDurableAgent<CALL_OPTIONS, Tools, RUNTIME_CONTEXT, OUTPUT>(run, resuming, {
      ...loopSettings,
      id,
      tools,
      prepareCall: resumingCalls(prepare, resuming),
    } as unknown as ToolLoopAgentSettings<CALL_OPTIONS, Tools, RUNTIME_CONTEXT, OUTPUT>);
  };
  /** Runs a call of the loop agent on the session that the call's options name. */
  const withOpen = async <T>(
    parameters: object,
    run: (
      agent: Awaited<ReturnType<typeof open>>,
      ...call: [parameters: never, inTool: AgentInTool | undefined]
    ) => Promise<T>,
  ): Promise<T> => {
    const { options, ...others } = parameters as {
      options: DurableAgentCallOptions<CALL_OPTIONS>;
      abortSignal?: AbortSignal;
    };
    const { session, own } = splitCallOptions(options);
    // At once: agents that begin in a tool call have an order.
    const inTool = beginAgent();
    // Not `await using`, because the oldest supported Node does not know it.
    const agent = await open({ ...session, abortSignal: others.abortSignal });
    try {
      return await run(agent, { ...others, options: own } as never, inTool);
    } finally {
      await agent.dispose();
    }
  };

  return {
    version: "agent-v1",
    id,
    sessions,
    tools: { ...ownTools } as Tools,
    open,
    generate: (parameters) => withOpen(parameters, (agent, ...call) => agent.generate(...call)),
    stream: (parameters) => withOpen(parameters, (agent, ...call) => agent.stream(...call)),
  };
}

/** The parts of a prepared call of an agent that this changes. */
interface PreparedCall extends StopWhenWaitingOptions {
  readonly messages?: readonly unknown[] | undefined;
  readonly prompt?: unknown;
}

type Use = DurableAgentSession & Pick<SessionUse, "abortSignal"> & ChatUse;

type PrepareCall = (call: never) => unknown;

/**
 * A `prepareCall` that puts results in the places of calls that have waited, in the given messages or those of the
 * application's own `prepareCall`.
 */
function resumingCalls(prepareCall: PrepareCall | undefined, resuming: Resuming) {
  return async (given: PreparedCall): Promise<PreparedCall> => {
    const own = (await prepareCall?.(given as never)) as PreparedCall | undefined;
    const call = own ?? given;
    // As AI SDK takes them: a prompt may be messages.
    const field = call.messages === undefined ? "prompt" : "messages";
    const messages = call[field];
    const { stopWhen, prepareStep } = call;
    // In a tool nobody reads a text of ours, and the agent goes on when all its calls have results.
    const isInTool = currentToolCall()?.agents !== undefined;
    const { waiting, tools, landing } = resuming;
    const whileWaiting = isInTool ? "hold" : resuming.whileWaiting;
    const stopped = { ...call, ...stopWhenWaiting({ stopWhen, prepareStep, whileWaiting }) };
    if (!Array.isArray(messages)) {
      const news = newsMessages(isInTool ? [] : await waiting.news());
      const said = { role: "user", content: messages };
      return news.length > 0 ? { ...stopped, [field]: [said, ...news] } : stopped;
    }

    const resumed = await waiting.resume(messages, { tools, whileWaiting });
    const all = [...resumed.messages, ...landing.splice(0)];
    const goesOn = resumed.goesOn || resuming.inChat?.isCutOff;
    const isSilent = !goesOn && (isInTool || lastSpeaker(all) !== "user");
    const silent = isSilent && { prepareStep: () => silentStep };
    return { ...stopped, [field]: all, ...silent };
  };
}
