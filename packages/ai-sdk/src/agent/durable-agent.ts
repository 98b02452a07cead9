import { invalidOption } from "@durable-mcp/core/internal";
import type { Principal } from "@durable-mcp/core";
import type { Agent, FlexibleSchema, OutputInterface, ToolLoopAgentSettings, ToolSet } from "ai";
import type { ConnectionToolSet } from "../tools/connection-tool-set.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import { createDurableSessions } from "../durable/create-durable-sessions.ts";
import type {
  DurableSessions,
  DurableSessionsOptions,
  SessionUse,
  StoredSessionsOptions,
} from "../durable/durable-sessions.ts";
import type { ConnectionProviderOptions } from "../provider/connection-provider.ts";
import { bindTools } from "./bind-tools.ts";
import { currentScope } from "../registry/run-scope.ts";
import type { OpenDurableAgent } from "./open-durable-agent.ts";

type Connections = Record<string, McpConnection>;
type RuntimeContext = Record<string, unknown>;

/** Which agent session a call goes on with, and on whose behalf. */
export interface DurableAgentSession {
  /** The agent session, such as a chat or a run. */
  readonly sessionId: string;
  /** From your sign-in; never from what a client sent. */
  readonly principal: Principal;
}

/** The call options of a durable agent: which session, beside the agent's own options. */
export type DurableAgentCallOptions<CALL_OPTIONS = never> = [CALL_OPTIONS] extends [never]
  ? DurableAgentSession
  : DurableAgentSession & CALL_OPTIONS;

/**
 * The tools of a durable agent, as far as their types are known: those of connections with
 * `schemas`, and its own.
 */
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

/** Sessions that others use too, from `createDurableSessions`. */
type GivenSessions<CONNECTIONS extends Connections> = { sessions: DurableSessions<CONNECTIONS> } & {
  [OPTION in keyof OwnSessions<CONNECTIONS>]?: undefined;
};

/** Options of `createDurableSessions`, of which the agent makes sessions of its own. */
type OwnSessions<CONNECTIONS extends Connections> = StoredSessionsOptions &
  Pick<ConnectionProviderOptions<CONNECTIONS>, "connections" | "pool">;

type AgentSessions<CONNECTIONS extends Connections> =
  | GivenSessions<CONNECTIONS>
  | (OwnSessions<CONNECTIONS> & { sessions?: undefined });

/**
 * The settings of `ToolLoopAgent`, and the sessions: either `connections`, `store` and the other
 * options of `createDurableSessions`, or `sessions`. `telemetry` is the loop's; that of connections
 * goes to `createDurableSessions`.
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
    /** The agent's own tools. One named like a connection's takes its place. @default none */
    tools?: TOOLS;
    /** The schema of the agent's own call options, without `sessionId` and `principal`. */
    callOptionsSchema?: FlexibleSchema<CALL_OPTIONS>;
    runtimeContext?: RUNTIME_CONTEXT;
    output?: OUTPUT;
  };

/** An AI SDK agent whose tools are those of MCP sessions that last from call to call. */
export interface DurableAgent<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = ToolSet,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
  CONNECTIONS extends Connections = Connections,
> extends Agent<DurableAgentCallOptions<CALL_OPTIONS>, TOOLS, RUNTIME_CONTEXT, OUTPUT> {
  /** The agent's sessions, to look at and to end; and `shutdown`, for the end of the process. */
  readonly sessions: DurableSessions<CONNECTIONS>;
  /**
   * The agent's own tools. Those of the connections are known when a session is open: `open`.
   */
  readonly tools: TOOLS;
  /**
   * Opens an agent session: gives an agent that has its tools, for several calls or for helpers
   * that look at `agent.tools`. Dispose of it; a stream that goes on keeps the session until it has
   * ended.
   *
   * @param session.abortSignal ends handshakes, listings, and what streams hold
   * @throws {McpSessionError} as `open` of the sessions does
   */
  open(
    session: DurableAgentSession & Pick<SessionUse, "abortSignal">,
  ): Promise<OpenDurableAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>>;
}

/**
 * Creates an AI SDK agent on durable sessions. Each `generate` and `stream` takes
 * `options: { sessionId, principal }`, opens that agent session, runs a `ToolLoopAgent` with its
 * tools, and releases it once, however the run ends. Pass `abortSignal`: a stream that nobody reads
 * is read to its end in the background unless it is aborted.
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
  type CallOptions = DurableAgentCallOptions<CALL_OPTIONS>;
  const { sessions, settings } = splitSessions<CONNECTIONS, typeof given>(given);
  const { id, tools: ownTools, prepareCall } = settings;

  const open = async ({
    sessionId,
    principal,
    abortSignal,
  }: DurableAgentSession & Pick<SessionUse, "abortSignal">) => {
    // AI SDK is a third of what this package loads: only where an agent runs.
    const loop = await import("./open-durable-agent.ts");
    const lease = await sessions.open(sessionId, { principal, abortSignal });
    const session: DurableAgentSession = { sessionId, principal };
    const scope = await lease.registry.run(() => currentScope());
    return new loop.OpenDurableAgent<CALL_OPTIONS, Tools, RUNTIME_CONTEXT, OUTPUT>(lease, {
      ...settings,
      tools: { ...lease.tools, ...(ownTools && bindTools(scope, ownTools)) },
      // The loop agent knows the agent's own options; the application is told all of them.
      ...(prepareCall && {
        prepareCall: ({ options, ...call }: { options?: CALL_OPTIONS }) =>
          prepareCall({ ...call, options: { ...options, ...session } } as never),
      }),
    } as unknown as ToolLoopAgentSettings<CALL_OPTIONS, Tools, RUNTIME_CONTEXT, OUTPUT>);
  };
  /** Not `await using`: the oldest Node that runs the source as it is does not know it. */
  const withOpen = async <T>(
    session: Parameters<typeof open>[0],
    run: (agent: Awaited<ReturnType<typeof open>>) => Promise<T>,
  ): Promise<T> => {
    const agent = await open(session);
    try {
      return await run(agent);
    } finally {
      await agent.dispose();
    }
  };
  /** The call as the loop agent takes it, and what `open` needs of it. */
  const split = (parameters: object) => {
    const { options, ...others } = parameters as {
      options: CallOptions;
      abortSignal?: AbortSignal;
    };
    const { sessionId, principal, ...own } = options ?? {};
    return {
      session: { sessionId, principal, abortSignal: others.abortSignal },
      call: { ...others, options: own } as never,
    };
  };

  return {
    version: "agent-v1",
    id,
    sessions,
    tools: { ...ownTools } as Tools,
    open,
    async generate(parameters) {
      const { session, call } = split(parameters);
      return await withOpen(session, (agent) => agent.generate(call));
    },
    async stream(parameters) {
      const { session, call } = split(parameters);
      return await withOpen(session, (agent) => agent.stream(call));
    },
  };
}

/** Takes the sessions, or what they are made of, out of an agent's settings. */
function splitSessions<
  CONNECTIONS extends Connections,
  SETTINGS extends AgentSessions<CONNECTIONS>,
>({
  sessions,
  connections,
  store,
  pool,
  agent,
  share,
  touchIntervalMs,
  onEvent,
  now,
  ...settings
}: SETTINGS) {
  const own = { connections, store, pool, agent, share, touchIntervalMs, onEvent, now };
  const given = Object.entries(own).find(([, value]) => value !== undefined);
  if (sessions !== undefined && given !== undefined) {
    const fix = "cannot be combined with sessions: give it to createDurableSessions";
    throw invalidOption(given[0], fix);
  }
  return {
    sessions: sessions ?? createDurableSessions(own as DurableSessionsOptions<CONNECTIONS>),
    settings,
  };
}
