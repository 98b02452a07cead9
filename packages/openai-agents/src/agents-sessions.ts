import {
  type Connections,
  createDurableSessions as createSessions,
  type DurableSessions,
  type DurableSessionsOptions,
  type FacedRun,
  type OfferedTool,
  type PlaceEnd,
  type WaitingPlace,
} from "@durable-mcp/sessions";

export type OfferedTools = Record<string, OfferedTool>;

/** A run, of which `bindAgentsTools` makes tools of the OpenAI Agents SDK. */
export interface AgentsRun<CONNECTIONS extends Connections = any> extends FacedRun<
  CONNECTIONS,
  OfferedTools,
  WaitingPlace,
  { readonly ends: readonly PlaceEnd[] }
> {}

/**
 * Creates the sessions of agents, kept in a store. Call it once, at start.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export const createDurableSessions = <CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): DurableSessions<CONNECTIONS, AgentsRun<CONNECTIONS>> =>
  createSessions(options, {
    // `bindAgentsTools` dresses them, and keeps the places beside the state.
    dress: (tool) => tool,
    resume: async (resumption, _scope, places: readonly WaitingPlace[], { tools }) =>
      await resumption.resume({ places, tools: tools as OfferedTools }),
  });
