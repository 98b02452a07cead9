import type { Principal } from "@durable-mcp/core";
import { checkRunOptions } from "./check-run-options.ts";
import { createRunConnection } from "./run-connection.ts";
import { printRunState, readRunState } from "./run-state.ts";
import { createRunTool, type RunTool } from "../tool/run-tool.ts";
import type { ConnectionStepFunctions, OpenedConnection } from "../step-protocol.ts";

/** Options of `openDurableConnections`. */
export interface OpenDurableConnectionsOptions {
  /** Names of the connections to use, as the steps know them. */
  readonly connections: readonly string[];
  /** The identity that the connections act for. The run's event log has it, like all arguments of steps. */
  readonly principal: Principal;
  /**
   * Your id of the agent session, such as a chat, that owns the MCP sessions. A state counts for this
   * agent session alone. Required if the steps keep sessions in a store.
   */
  readonly sessionId?: string | undefined;
  /** `state` of an earlier run of the same agent session. If it is not genuine, fresh sessions start. */
  readonly state?: string | undefined;
  /** The application's step functions. */
  readonly steps: ConnectionStepFunctions;
  /**
   * Decides what happens if a server is down at the start: `"omit"` goes on without its tools,
   * `"throw"` fails the step, and the engine repeats it. A connection that is declared `required` always
   * fails the step. @default "omit"
   */
  readonly onUnavailable?: "omit" | "throw" | undefined;
}

/** The connections of a run. */
export interface DurableConnections {
  /**
   * The tools of all connections, named `<connection>__<tool>` or by the connection's `toolNames`. A connection whose user
   * has to sign in only has `<connection>__sign_in`. After the sign-in this object has its tools.
   */
  readonly tools: Record<string, RunTool>;
  /** The servers' instructions for their use, by connection. */
  readonly instructions: Readonly<Record<string, string>>;
  /**
   * The current sessions, sealed, for the next run of the same agent session. `undefined` if there are
   * none, or if a store keeps them.
   */
  readonly state: string | undefined;
  /** Ends the sessions on their servers, in a step. A later call opens another session. */
  end(): Promise<void>;
}

/**
 * Opens MCP connections in a workflow. Call it in workflow code, before anything runs in parallel.
 *
 * @example
 * const mcp = await openDurableConnections({ connections: ["cart"], principal, sessionId: chatId, state, steps });
 * const agent = new DurableAgent({ model, tools: mcp.tools });
 * await agent.stream({ messages, writable });
 * return { state: mcp.state };
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @throws the engine's error if the step failed, for an undeclared connection for example
 */
export async function openDurableConnections(
  options: OpenDurableConnectionsOptions,
): Promise<DurableConnections> {
  checkRunOptions(options);
  const {
    connections: names,
    principal,
    sessionId,
    state,
    steps,
    onUnavailable = "omit",
  } = options;
  // A repeated name would make two sessions, and nobody would use one of them.
  const connections = [...new Set(names)];
  const before = readRunState(state);
  const opened = await steps.sessions({
    kind: "open",
    connections,
    principal,
    sessionId,
    slots: slotsOf(before, connections),
    onUnavailable,
  });

  const tools: Record<string, RunTool> = {};
  const offer = (connection: string, { tools: offered }: OpenedConnection) => {
    for (const tool of offered) {
      const value = createRunTool(tool, (...call) => inUse.get(connection)!.call(tool, ...call));
      // A server may name a tool in any way, such as `__proto__`.
      const usual = { writable: true, enumerable: true, configurable: true };
      Object.defineProperty(tools, tool.name, { value, ...usual });
    }
  };
  const inUse = new Map(
    Object.entries(opened).map(([connection, one]) => {
      const wasReplacement = before.get(connection)?.isReplacement ?? false;
      const isReplacement = one.isReplacement || wasReplacement;
      const own = { connection, principal, sessionId, steps, opened: { ...one, isReplacement } };
      const onSignedIn = (later: OpenedConnection) => {
        for (const { name } of one.tools) delete tools[name];
        offer(connection, later);
      };
      return [connection, createRunConnection({ ...own, onSignedIn })] as const;
    }),
  );
  for (const [connection, one] of Object.entries(opened)) offer(connection, one);
  const instructions = Object.entries(opened).flatMap(([connection, one]) =>
    one.instructions === undefined ? [] : [[connection, one.instructions] as const],
  );

  /** Connections that were down, or that this run does not use, keep their slots. */
  const kept = () => {
    const slots = new Map(before);
    for (const [connection, { kept: slot }] of inUse) {
      if (slot === undefined) slots.delete(connection);
      else slots.set(connection, slot);
    }
    return slots;
  };

  return {
    tools,
    instructions: Object.fromEntries(instructions),
    get state() {
      return printRunState(kept());
    },
    async end() {
      await steps.sessions({
        kind: "end",
        connections,
        principal,
        sessionId,
        slots: slotsOf(kept(), connections),
        onUnavailable: "omit",
      });
      for (const connection of connections) before.delete(connection);
      for (const connection of inUse.values()) connection.forget();
    },
  };
}

function slotsOf(
  slots: ReadonlyMap<string, { readonly slot: string }>,
  connections: readonly string[],
): Record<string, string> {
  const inUse = connections.flatMap((connection) => {
    const kept = slots.get(connection);
    return kept === undefined ? [] : [[connection, kept.slot] as const];
  });
  return Object.fromEntries(inUse);
}
